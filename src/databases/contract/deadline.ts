/** The deadline of an answer from a database. */
import { within } from "../../deadline.ts";

/**
 * How much longer than ours the connect timeout of a client library is, milliseconds. With equal times either could come first, and an operator would read
 * the library's own words for the same fault. The library's timeout still closes the socket.
 */
const libraryLaterMs = 1_000;

/** For the options of a client library whose connecting has the deadline `ms`. */
export function libraryConnectMs(ms: number): number {
  return ms + libraryLaterMs;
}

/** Rejects with the code TIMEOUT. @param onLate - gets a result that comes after the deadline */
export function deadline<Result>(work: Promise<Result>, ms: number, onLate: (result: Result) => void): Promise<Result> {
  return within(work, ms, () => {
    work.then(onLate, () => undefined);
    throw Object.assign(new Error(`no answer within ${ms / 1_000} s`), { code: "TIMEOUT" });
  });
}
