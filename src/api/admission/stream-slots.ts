/** Open streams of each user: of events, by `/events` and `/ws`, and answers line by line. They last for hours, and count as no request under way. */
import { apiStreamsOfUserMax } from "../../limits.ts";
import { tooMany } from "../http/errors.ts";
import { Places } from "./places.ts";

export class StreamSlots {
  readonly counters = { refusedOfUser: 0 };
  readonly #places = new Places();

  /** @returns a function that gives the place back. @throws ApiError 429 for a user with too many */
  take(user: string): () => void {
    if (this.#places.heldBy(user) >= apiStreamsOfUserMax) {
      this.counters.refusedOfUser += 1;
      throw tooMany("Too many streams of this user are open", "USER_BUSY");
    }
    return this.#places.take(user);
  }

  openOf(user: string): number {
    return this.#places.heldBy(user);
  }
}
