/** The part of a request's connection that queues use. */

/**
 * `address`: of the other end. `number`: unique in this run of the master. `isProven`: a request over it was
 * proven to be a minion's or an operator's. `answeredMs`: when its last reply was written, by `performance.now()`.
 */
export type RequestConnection = {
  readonly number: number;
  readonly address: string;
  readonly isProven: boolean;
  readonly answeredMs: number;
};
