/** What a member knows of a waiting job in the cluster's bucket, and the order of its own writes. */
import type { Owner } from "../../../cluster/leases/record.ts";

/** A job in the bucket. Revisions are 0 until they are known. */
export type WaitingEntry = {
  record: number;
  state: number;
  owner: Owner | undefined;
  /** As the bucket has them. */
  marks: Uint8Array;
  /** Since when the job is over, by the steady clock. */
  overMs: number | undefined;
  /** How long the bucket keeps it. */
  endsMs: number;
  /** When the job was published; 0 until it is known. It tells a job that is over from another one with its id. */
  publishedMs: number;
  /** When its record was seen, by the steady clock. */
  seenMs: number;
  /** The latest write. Writes of one job follow each other, so that none of them refuses another. */
  turn: Promise<void>;
  /** The write of marks that waits for its turn. All that ask meanwhile share it, because it takes the newest marks. */
  nextMarks: Promise<void> | undefined;
};

export function newWaitingEntry(): WaitingEntry {
  return {
    ...{ record: 0, state: 0, owner: undefined, marks: new Uint8Array(0), overMs: undefined },
    ...{ endsMs: Number.POSITIVE_INFINITY, publishedMs: 0, seenMs: 0 },
    ...{ turn: Promise.resolve(), nextMarks: undefined },
  };
}

/** Runs the step when the writes of the entry before it are over. */
export async function inTurn(entry: WaitingEntry, step: () => Promise<void>): Promise<void> {
  const turn = entry.turn.then(step);
  entry.turn = turn.catch(() => undefined);
  await turn;
}
