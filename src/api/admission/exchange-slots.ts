/** Waits for an OpenID provider under way, for its document or for a code: a provider that hangs must not take the places of all other requests. */
import { apiOidcExchangesMax, apiOidcExchangesOfAddressMax } from "../../limits.ts";
import { busy, tooMany } from "../http/errors.ts";
import { Places } from "./places.ts";

export class ExchangeSlots {
  readonly counters = { underWay: 0, refused: 0, refusedOfAddress: 0 };
  readonly #places = new Places();

  /** Runs `exchange` in a place of `address`. @throws ApiError 429 for an address with too many, 503 */
  async within<Result>(address: string, exchange: () => Promise<Result>): Promise<Result> {
    if (this.#places.heldBy(address) >= apiOidcExchangesOfAddressMax) {
      this.counters.refusedOfAddress += 1;
      throw tooMany("Too many logins of this address are under way", "ADDRESS_BUSY");
    }
    if (this.counters.underWay >= apiOidcExchangesMax) {
      this.counters.refused += 1;
      throw busy("Too many logins are under way");
    }
    const release = this.#places.take(address);
    this.counters.underWay += 1;
    try {
      return await exchange();
    } finally {
      release();
      this.counters.underWay -= 1;
    }
  }
}
