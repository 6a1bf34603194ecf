/**
 * Ranks of addresses for large requests of unproven connections. Addresses of minions come first, addresses whose large requests were found forged
 * lately come last. The number of remembered addresses is bounded. No I/O.
 */
import { forgerAddressesMax, forgerAddressMs } from "../../limits.ts";
import { addressKey } from "../../transport/zmtp/address.ts";

/** `known`: it had a proven connection within `provenAddressMs`. `forger`: a large request of it was found forged within `forgerAddressMs`. */
export const addressRanks = ["known", "unknown", "forger"] as const;
export type AddressRank = (typeof addressRanks)[number];

export type AddressQuestions = {
  /** Whether the address is one of `trusted_proxies`. */
  readonly isProxy: (address: string) => boolean;
  /** Whether a connection of the address has proved itself lately. */
  readonly hasProven: (address: string) => boolean;
};

/** All proxies count as one address, because anyone may connect through any of them. */
const proxiesKey = "proxies";

export class AddressRanks {
  readonly #questions: AddressQuestions;
  /** Milliseconds of the last forgery by address, the oldest first. */
  readonly #forgers = new Map<string, number>();

  constructor(questions: AddressQuestions) {
    this.#questions = questions;
  }

  /** The unit that takes turns: an IPv4 address, the /64 of an IPv6 address, or all proxies. */
  keyOf(address: string): string {
    return this.#questions.isProxy(address) ? proxiesKey : addressKey(address);
  }

  rankOf(address: string, nowMs: number): AddressRank {
    const key = this.keyOf(address);
    const forgedMs = this.#forgers.get(key);
    // Forgers come last even beside a minion, so that they cannot use up the budget of the other minions' addresses.
    if (forgedMs !== undefined && nowMs - forgedMs < forgerAddressMs) return "forger";
    return key !== proxiesKey && this.#questions.hasProven(address) ? "known" : "unknown";
  }

  /** Notes that a large request of the address was found forged. */
  noteForged(address: string, nowMs: number): void {
    const key = this.keyOf(address);
    this.#forgers.delete(key);
    this.#forgers.set(key, nowMs);
    if (this.#forgers.size <= forgerAddressesMax) return;
    const [oldest] = this.#forgers.keys();
    if (oldest !== undefined) this.#forgers.delete(oldest);
  }
}
