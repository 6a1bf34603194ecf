/** The connection that a request came over, as far as queues need to know it: where its reply goes, and whether it proved anything. */

/** `address`: of the other end. `number`: unique in this run of the master. `isProven`: a request over it was proven to be a minion's or an operator's. */
export type RequestPeer = {
  readonly number: number;
  readonly address: string;
  readonly isProven: boolean;
};
