/** Tells of damaged records: the log once each, because they stay damaged; the caller of an answer that lacks one each time. */
import { damagedNotesMax } from "../../../limits.ts";
import { storeDamaged } from "../../disk/store-error.ts";
import { damagedAdvice } from "./records.ts";

export type DamageListeners = {
  readonly onFault: (error: Error) => void;
  /** Called whenever an answer lacks something, in the call that asks for it. */
  readonly onLeftOut?: ((text: string) => void) | undefined;
};

export class DamageNotes {
  readonly #path: string;
  readonly #listeners: DamageListeners;
  readonly #told = new Set<string>();

  constructor(path: string, listeners: DamageListeners) {
    this.#path = path;
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
    const what = `${name} in ${this.#path} is not what was stored, and left out`;
    this.#listeners.onLeftOut?.(`${what}: ${damagedAdvice}`);
    if (this.#told.has(name) || this.#told.size >= damagedNotesMax) return;
    this.#told.add(name);
    this.#listeners.onFault(storeDamaged(what, damagedAdvice));
  }
}
