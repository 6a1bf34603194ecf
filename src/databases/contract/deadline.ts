/** The deadline of an answer from a database. */
import { within } from "../../deadline.ts";

/** Rejects with the code TIMEOUT. @param onLate - gets a result that comes after the deadline */
export function deadline<Result>(work: Promise<Result>, ms: number, onLate: (result: Result) => void): Promise<Result> {
  return within(work, ms, () => {
    work.then(onLate, () => undefined);
    throw Object.assign(new Error(`no answer within ${ms / 1_000} s`), { code: "TIMEOUT" });
  });
}
