/** A target before it is parsed: its one type from client to worker. */

/** `targetKind`: Salt's `tgt_type`. `delimiter` separates the parts of a path into grains or pillar. */
export type AskedTarget = {
  readonly target: string | readonly string[];
  readonly targetKind: string;
  readonly delimiter: string;
};
