/** Reports damaged records: to the log once each, because they stay damaged; to the caller each time an answer leaves one out. */
import { damagedNotesMax } from "../../limits.ts";
import { storeDamaged } from "../disk/store-error.ts";

/** Advice to the operator about a damaged record. */
export const damagedAdvice = "`saltworks check-store` lists all damage";

export type DamageListeners = {
  readonly onFault: (error: Error) => void;
  /** Called for each damaged record that an answer leaves out, during the call that asks. */
  readonly onLeftOut?: ((text: string) => void) | undefined;
};

export class DamageNotes {
  readonly #place: string;
  readonly #listeners: DamageListeners;
  readonly #told = new Set<string>();

  /** @param place where the job cache is */
  constructor(place: string, listeners: DamageListeners) {
    this.#place = place;
    this.#listeners = listeners;
  }

  noteReturn(jid: string, minionId: string): void {
    this.#note(`the return of ${minionId} for job ${jid}`);
  }

  noteLoad(jid: string): void {
    this.#note(`the record of job ${jid}`);
  }

  noteEnd(jid: string): void {
    this.#note(`the end of job ${jid}`);
  }

  #note(name: string): void {
    const what = `${name} in ${this.#place} is not what was stored, and left out`;
    this.#listeners.onLeftOut?.(`${what}: ${damagedAdvice}`);
    if (this.#told.has(name) || this.#told.size >= damagedNotesMax) return;
    this.#told.add(name);
    this.#listeners.onFault(storeDamaged(what, damagedAdvice));
  }
}
