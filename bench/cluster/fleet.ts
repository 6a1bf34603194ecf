/** Minions of the cluster's benches, spread over members, and waits for their answers. */
import { hasCode, SaltworksError } from "../../src/errors.ts";
import { Gate } from "../fleet/gate.ts";
import { defaultKeyDirectory, loadPrimes, minionKey } from "../fleet/keys.ts";
import { type Address, MovingMinion, type MovingOptions } from "./moving-minion.ts";

const signInsAtOnce = 16;

/** `memberOf`: the member of a minion by its number. */
export type FleetOptions = Pick<MovingOptions, "members" | "onAcknowledged"> & {
  readonly count: number;
  readonly memberOf: (minion: number) => number;
};

export async function openMinions(o: FleetOptions): Promise<MovingMinion[]> {
  const primes = await loadPrimes(defaultKeyDirectory(), o.count);
  const gate = new Gate(signInsAtOnce);
  const open = (_: unknown, index: number) =>
    gate.run(() => {
      const { members, onAcknowledged } = o;
      const key = minionKey(primes, index);
      return MovingMinion.open({ id: `minion${index}`, key, members, at: o.memberOf(index), onAcknowledged });
    });
  return await Promise.all(Array.from({ length: o.count }, open));
}

export function addressesOf(masters: readonly Address[]): Address[] {
  return masters.map(({ requestPort, publishPort }) => ({ requestPort, publishPort }));
}

/** Waits of one program for conditions that its minions' answers make true. */
export class Waits {
  #open: { readonly isSo: () => boolean; readonly resolve: () => void }[] = [];

  /** Call it after each change. */
  note(): void {
    const now = this.#open.filter(({ isSo }) => isSo());
    this.#open = this.#open.filter((one) => !now.includes(one));
    for (const { resolve } of now) resolve();
  }

  /** @throws SaltworksError TASK_TIMEOUT */
  until(what: string, isSo: () => boolean, limitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const one = {
        isSo,
        resolve: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#open = this.#open.filter((other) => other !== one);
        reject(new SaltworksError("TASK_TIMEOUT", `not in ${limitMs} ms: ${what}`));
      }, limitMs);
      this.#open.push(one);
      this.note();
    });
  }
}

/** For a wait whose limit is an answer, too. */
export function ignoreTimeout(error: unknown): void {
  if (!hasCode(error, "TASK_TIMEOUT")) throw error;
}
