/** Tells of minions' data that is not what was stored: the log once each, because the minion is asked for it again. */
import { damagedNotesMax } from "../../limits.ts";
import { storeDamaged } from "../disk/store-error.ts";

export type DataName = "grains and pillar" | "mine" | "session";

export class DamagedMinions {
  readonly #path: string;
  readonly #onFault: (error: Error) => void;
  readonly #told = new Set<string>();

  constructor(path: string, onFault: ((error: Error) => void) | undefined) {
    this.#path = path;
    this.#onFault = onFault ?? ((error) => process.emitWarning(error));
  }

  note(id: string, name: DataName): void {
    const what = `the ${name} of ${id} in ${this.#path}`;
    if (this.#told.has(what) || this.#told.size >= damagedNotesMax) return;
    this.#told.add(what);
    this.#onFault(storeDamaged(`${what} is not what was stored, and counts as absent until the minion sends it again`));
  }
}
