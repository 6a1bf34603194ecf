/** Tasks of the reactor's lane, and their answers. Types, and the names that both sides know. */
import type { MasterConfig } from "../../config/load.ts";
import type { BlockingLine } from "../../sidecar/blocking.ts";

/** The user of the reactor's calls. Nothing reacts to events of this user. */
export const reactorUser = "Reactor";

/** `data`: the event's map in the new flavour. `files`: the references of all matching entries of `reactor`, in order. */
export type ReactorEvent = { readonly tag: string; readonly data: Uint8Array; readonly files: readonly string[] };
/** `line`: on which the thread asks the site's own Python. */
export type ReactorTask = { readonly events: readonly ReactorEvent[]; readonly line?: BlockingLine };

/** All kinds of reactions. */
export const reactionKinds = ["local", "runner", "wheel", "caller"] as const;

/**
 * `load`: a request as an operator would send it, in network encoding; of a `caller` reaction its arguments. `id`, `sls`: the reaction's name and file,
 * for the log.
 */
export type Reaction = {
  readonly kind: (typeof reactionKinds)[number];
  readonly id: string;
  readonly sls: string;
  readonly fun: string;
  readonly load: Uint8Array;
};

/** `isOwn`: the event is one of the reactor's own calls, to which nothing reacts. `faults`: sentences for the log. */
export type ReactorAnswer = {
  readonly isOwn: boolean;
  readonly reactions: readonly Reaction[];
  readonly faults: readonly string[];
  /** A file needs the site's own Python, and the task had no line to it: the answer is not to be used. */
  readonly needsPython?: boolean;
};
export type ReactorStart = { readonly config: MasterConfig };
