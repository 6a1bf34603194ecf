/** The durable mark of a migration: a file in the cache directory, replaced after each batch. It leaves when the migration has come to its end. */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { readIfThere } from "../../config/files/missing.ts";
import { removeIfThere, replaceDurably } from "../../store/disk/durable-file.ts";
import { attempt } from "../../store/disk/store-error.ts";
import type { Cursor } from "./contract.ts";

export type MigrationCounts = {
  /** Jobs that were looked at. */
  readonly passed: number;
  readonly jobs: number;
  readonly returns: number;
  /** Jobs and returns that the target had already. */
  readonly present: number;
  readonly leftOut: number;
};
/** `places`: of source and target. A mark of another place does not count. `named`: what was left out first. `spentMs`: the time of all steps. */
export type MigrationMark = {
  readonly places: readonly [string, string];
  readonly cursor: Cursor | undefined;
  readonly counts: MigrationCounts;
  readonly named: readonly string[];
  readonly spentMs: number;
};

const version = 1;
const fileMode = 0o600;
const directoryMode = 0o700;

export class MarkFile {
  readonly #path: string;

  constructor(cachedir: string, from: string, to: string) {
    this.#path = join(cachedir, "migrations", `${from}-${to}.json`);
  }

  /** @returns undefined if there is none for these places, or it cannot be read: then the migration begins anew, and writes nothing twice */
  read(places: MigrationMark["places"]): MigrationMark | undefined {
    const bytes = attempt(`${this.#path} cannot be read`, () => readIfThere(this.#path));
    if (bytes === undefined) return undefined;
    try {
      const found = JSON.parse(bytes.toString("utf8")) as MigrationMark & { readonly version: number };
      const isOurs = found.version === version && found.places.every((place, index) => place === places[index]);
      return isOurs ? found : undefined;
    } catch {
      return undefined;
    }
  }

  write(mark: MigrationMark): void {
    attempt(`${this.#path} cannot be written`, () => {
      mkdirSync(dirname(this.#path), { recursive: true, mode: directoryMode });
      replaceDurably(this.#path, JSON.stringify({ version, ...mark }), fileMode);
    });
  }

  remove(): void {
    attempt(`${this.#path} cannot be removed`, () => removeIfThere(this.#path));
  }
}
