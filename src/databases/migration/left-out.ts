/** What a source has left out and not told yet. */
import { type Cursor, type LeftOut, leftOut, type MigratedRecord } from "./contract.ts";

export class LeftOutNotes {
  #notes: LeftOut[] = [];

  readonly add = (what: string, reason: string): void => {
    this.#notes.push(leftOut(what, reason));
  };

  clear(): void {
    this.#notes = [];
  }

  *told(cursor: Cursor): Generator<MigratedRecord> {
    for (const item of this.#notes.splice(0)) yield { item, cursor };
  }
}
