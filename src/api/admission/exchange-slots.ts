/** Waits for an OpenID provider under way, for its document or for a code: a provider that hangs must not take the places of all other requests. */
import { apiOidcExchangesMax, apiOidcExchangesOfAddressMax } from "../../limits.ts";
import { busy, tooMany } from "../http/errors.ts";

export class ExchangeSlots {
  readonly counters = { underWay: 0, refused: 0, refusedOfAddress: 0 };
  readonly #addresses: string[] = [];

  /** Runs `exchange` in a place of `address`. @throws ApiError 429 for an address with too many, 503 */
  async within<Result>(address: string, exchange: () => Promise<Result>): Promise<Result> {
    if (this.#addresses.filter((one) => one === address).length >= apiOidcExchangesOfAddressMax) {
      this.counters.refusedOfAddress += 1;
      throw tooMany("Too many logins of this address are under way");
    }
    if (this.#addresses.length >= apiOidcExchangesMax) {
      this.counters.refused += 1;
      throw busy("Too many logins are under way");
    }
    this.#addresses.push(address);
    this.counters.underWay += 1;
    try {
      return await exchange();
    } finally {
      this.#addresses.splice(this.#addresses.indexOf(address), 1);
      this.counters.underWay -= 1;
    }
  }
}
