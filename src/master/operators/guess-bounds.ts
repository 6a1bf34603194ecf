/**
 * Bounds wrong logins by user, by address and by both together, so that a flood against one name locks out neither other names nor this user at
 * another address. A wrong login is owed; what is owed falls with time. A user that logged in at an address lately is bound there only by its own
 * wrong logins at that address. Pure, except for the clock that the caller passes.
 */
import { guessersMax, guessesOfAddressMax, guessesOfPairMax, guessesOfUserMax, knownLoginMs } from "../../limits.ts";

/** `login`: the user with its eauth system. */
export type Guesser = { readonly login: string; readonly address: string };
type Rate = { readonly atFirst: number; readonly eachMs: number };

export const guessBounds = ["guessesOfPairMax", "guessesOfUserMax", "guessesOfAddressMax"] as const;
export type GuessBound = (typeof guessBounds)[number];

export class GuessBounds {
  /** Logins that were refused unchecked, by the bound. */
  readonly refused: Record<GuessBound, number> = { guessesOfPairMax: 0, guessesOfUserMax: 0, guessesOfAddressMax: 0 };
  readonly #pairs = new Debts(guessesOfPairMax);
  readonly #users = new Debts(guessesOfUserMax);
  readonly #addresses = new Debts(guessesOfAddressMax);
  /** When a pair's last right login was. */
  readonly #known = new Map<string, number>();

  /** The bound that refuses a login now. */
  exceeded({ login, address }: Guesser, nowMs: number): GuessBound | undefined {
    const pair = pairOf(login, address);
    if (this.#pairs.isOver(pair, nowMs)) return "guessesOfPairMax";
    if (this.#isKnown(pair, nowMs)) return undefined;
    if (this.#users.isOver(login, nowMs)) return "guessesOfUserMax";
    return this.#addresses.isOver(address, nowMs) ? "guessesOfAddressMax" : undefined;
  }

  noteRight({ login, address }: Guesser, nowMs: number): void {
    keepNewest(this.#known, pairOf(login, address), nowMs);
  }

  /** A wrong login at a known place is owed by its pair alone, because the user itself mistypes there. */
  noteWrong({ login, address }: Guesser, nowMs: number): void {
    const pair = pairOf(login, address);
    this.#pairs.add(pair, nowMs);
    if (this.#isKnown(pair, nowMs)) return;
    this.#users.add(login, nowMs);
    this.#addresses.add(address, nowMs);
  }

  #isKnown(pair: string, nowMs: number): boolean {
    const sinceMs = this.#known.get(pair);
    return sinceMs !== undefined && nowMs - sinceMs < knownLoginMs;
  }
}

/** What each name owes. A debt may exceed the bound by the logins that were under way; it then takes longer to fall. */
class Debts {
  readonly #rate: Rate;
  readonly #debts = new Map<string, { readonly owed: number; readonly sinceMs: number }>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  isOver(name: string, nowMs: number): boolean {
    return this.#owed(name, nowMs) > this.#rate.atFirst - 1;
  }

  add(name: string, nowMs: number): void {
    keepNewest(this.#debts, name, { owed: this.#owed(name, nowMs) + 1, sinceMs: nowMs });
  }

  #owed(name: string, nowMs: number): number {
    const debt = this.#debts.get(name);
    return debt === undefined ? 0 : Math.max(0, debt.owed - (nowMs - debt.sinceMs) / this.#rate.eachMs);
  }
}

/** Sets a member as the newest; over `guessersMax` the oldest goes. */
function keepNewest<Kept>(map: Map<string, Kept>, name: string, kept: Kept): void {
  map.delete(name);
  map.set(name, kept);
  const [oldest] = map.keys();
  if (map.size > guessersMax && oldest !== undefined) map.delete(oldest);
}

/** No address has a NUL. */
function pairOf(login: string, address: string): string {
  return `${address}\0${login}`;
}
