/** Tells of returns that are not what was stored, once each: they stay damaged, and who asks for their job asks again. */
import { damagedNotesMax } from "../../limits.ts";
import { storeDamaged } from "../lmdb-env.ts";
import { damagedAdvice } from "../lmdb-records.ts";

export class DamageNotes {
  readonly #path: string;
  readonly #onFault: (error: Error) => void;
  readonly #told = new Set<string>();

  constructor(path: string, onFault: (error: Error) => void) {
    this.#path = path;
    this.#onFault = onFault;
  }

  note(jid: string, minionId: string): void {
    const name = `${jid}\0${minionId}`;
    if (this.#told.has(name) || this.#told.size >= damagedNotesMax) return;
    this.#told.add(name);
    const what = `the return of ${minionId} for job ${jid} in ${this.#path} is not what was stored, and left out`;
    this.#onFault(storeDamaged(what, damagedAdvice));
  }
}
