/** The one migration of a thread, step by step. A thread that replaces a lost one goes on from the durable mark. */
import { hasCode, type SaltworksError } from "../../errors.ts";
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

export class MigrationThread {
  readonly #config: DatabaseConfig;
  readonly #own: JobDatabase | undefined;
  #open: Migration | undefined;

  /** @param own the database that this thread has open to copy jobs into it */
  constructor(config: DatabaseConfig, own?: JobDatabase) {
    this.#config = config;
    this.#own = own;
  }

  async run({ what, from, to }: MigrationTask): Promise<MigrationAnswer> {
    const leftOut: string[] = [];
    try {
      if (what !== "step") await this.#leave();
      if (what === "leave") return { progress: undefined, fault: undefined };
      this.#open ??= await openMigration(this.#config, { from, to }, this.#own);
      if (what === "step") await this.#open.step((texts) => leftOut.push(...texts));
      const progress = this.#open.progress(leftOut);
      if (progress.isDone) await this.#leave();
      return { progress, fault: undefined };
    } catch (error) {
      const isPassing = hasCode(error, "DATABASE_FAILED") || hasCode(error, "STORE_FAILED");
      if (!isPassing && (error as SaltworksError).code === undefined) throw error;
      return { progress: this.#open?.progress(leftOut), fault: { message: (error as Error).message, isPassing } };
    }
  }

  async #leave(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.close();
  }
}
