/** The one migration of a thread, step by step. A thread that replaces a lost one goes on from the durable mark. */
import { isDatabaseName } from "../../config/options/job-cache-drivers.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import { BroughtRows } from "../brought-rows.ts";
import type { DatabaseConfig, JobDatabase } from "../contract/database.ts";
import type { Migration, MigrationProgress } from "./migration.ts";
import { type MigrationNames, openMigration } from "./open.ts";

/** `begin` opens the migration; `step` also does so if the thread has none; `leave` closes it. */
export type MigrationTask = { readonly kind: "migrate"; readonly what: "begin" | "step" | "leave" } & MigrationNames;
/** `progress`: undefined if it could not be opened. `fault`: why the step failed, and whether a later one may not. */
export type MigrationAnswer = {
  readonly progress: MigrationProgress | undefined;
  readonly fault: { readonly message: string; readonly isPassing: boolean } | undefined;
};

/** The database that the thread has open to copy jobs into it, and what it knows of rows there that others wrote. */
export type OwnDatabase = { readonly database: JobDatabase; readonly brought: BroughtRows };

export class MigrationThread {
  readonly #config: DatabaseConfig;
  readonly #own: OwnDatabase | undefined;
  #open: Migration | undefined;
  #brought: BroughtRows | undefined;

  constructor(config: DatabaseConfig, own?: OwnDatabase) {
    this.#config = config;
    this.#own = own;
  }

  async run({ what, from, to }: MigrationTask): Promise<MigrationAnswer> {
    const leftOut: string[] = [];
    try {
      if (what !== "step") await this.#leave();
      if (what === "leave") return { progress: undefined, fault: undefined };
      this.#bring(to);
      this.#open ??= await openMigration(this.#config, { from, to }, this.#own?.database);
      if (what === "step") await this.#open.step((texts) => leftOut.push(...texts));
      const progress = this.#open.progress(leftOut);
      if (progress.isDone) await this.#leave();
      return { progress, fault: undefined };
    } catch (error) {
      const isPassing = hasCode(error, "DATABASE_FAILED") || hasCode(error, "STORE_FAILED");
      if (what === "begin") await this.#leave();
      if (!isPassing && (error as SaltworksError).code === undefined) throw error;
      return { progress: this.#open?.progress(leftOut), fault: { message: (error as Error).message, isPassing } };
    }
  }

  /** Also if the target is not the database that gets jobs: it may be so after a restart, with what waits now. */
  #bring(to: string): void {
    if (!isDatabaseName(to)) return;
    const own = this.#own?.database.name === to ? this.#own.brought : undefined;
    this.#brought ??= own ?? new BroughtRows(this.#config.cachedir, to);
    this.#brought.begin();
  }

  async #leave(): Promise<void> {
    const [open, brought] = [this.#open, this.#brought];
    this.#open = undefined;
    this.#brought = undefined;
    await open?.close();
    brought?.end();
  }
}
