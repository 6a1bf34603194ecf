/** A request's connection, as far as queues need it: the address for its reply, and whether it has proved itself. */

/** `address`: of the other end. `number`: unique in this run of the master. `isProven`: a request over it was proven to be a minion's or an operator's. */
export type RequestPeer = {
  readonly number: number;
  readonly address: string;
  readonly isProven: boolean;
};
