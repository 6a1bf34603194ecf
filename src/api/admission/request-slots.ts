/** Requests under way, from the end of their body to the end of their answer: of all, of a user, of strangers and of a stranger's address. */
import {
  apiRequestsMax,
  apiRequestsOfAddressMax,
  apiRequestsOfStrangersMax,
  apiRequestsOfUserMax,
} from "../../limits.ts";
import { busy, tooMany } from "../http/errors.ts";
import { Places } from "./places.ts";

/** `name`: the user of a session, or a stranger's address. */
export type Asker = { readonly isStranger: boolean; readonly name: string };

export class RequestSlots {
  readonly counters = { underWay: 0, ofStrangers: 0, refused: 0, refusedOfUser: 0, refusedOfAddress: 0 };
  readonly #places = new Places();

  /** @returns a function that gives the place back. @throws ApiError 429 for an asker with too many, 503 */
  take({ isStranger, name }: Asker): () => void {
    const { counters } = this;
    const asker = `${isStranger ? "address" : "user"} ${name}`;
    const own = this.#places.heldBy(asker);
    if (isStranger && own >= apiRequestsOfAddressMax) {
      counters.refusedOfAddress += 1;
      throw tooMany("Too many requests of this address are under way", "ADDRESS_BUSY");
    }
    if (!isStranger && own >= apiRequestsOfUserMax) {
      counters.refusedOfUser += 1;
      throw tooMany("Too many requests of this user are under way", "USER_BUSY");
    }
    const isFull = isStranger ? counters.ofStrangers >= apiRequestsOfStrangersMax : counters.underWay >= apiRequestsMax;
    if (isFull) {
      counters.refused += 1;
      throw busy("Too many requests are under way");
    }
    const release = this.#places.take(asker);
    counters.underWay += 1;
    if (isStranger) counters.ofStrangers += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      release();
      counters.underWay -= 1;
      if (isStranger) counters.ofStrangers -= 1;
    };
  }
}
