/**
 * Keeps the result of `key.list_all` while the key directories stay as they are, because programs ask for it many times a second. It costs five
 * `stat`s of directories instead of a task of the runner lane. The caller's permission, its events and its audit line are not kept.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { keyListSettleMs } from "../../limits.ts";
import { keyFolders } from "../../store/keys/states.ts";
import type { RunnerResult } from "../../workers/messages/runner.ts";

export class KeptKeyList {
  readonly #directories: readonly string[];
  #kept: { readonly state: string; readonly result: RunnerResult } | undefined;

  constructor(pkiDir: string) {
    this.#directories = [pkiDir, ...Object.values(keyFolders).map((name) => join(pkiDir, name))];
  }

  /** Runs the function unless nothing has changed since its last run. */
  async result(run: () => Promise<RunnerResult>): Promise<RunnerResult> {
    const before = this.#state();
    if (before !== undefined && before === this.#kept?.state) return this.#kept.result;
    const result = await run();
    const isKept = result.success && before !== undefined && this.#state() === before;
    this.#kept = isKept ? { state: before, result } : undefined;
    return result;
  }

  /**
   * What tells that a directory was changed. Undefined if one was changed so lately that a further change may have the same time, or cannot be looked
   * at.
   */
  #state(): string | undefined {
    const nowMs = Date.now();
    let state = "";
    for (const directory of this.#directories) {
      let found: ReturnType<typeof statSync>;
      try {
        found = statSync(directory, { throwIfNoEntry: false });
      } catch {
        // The function names the fault.
        return undefined;
      }
      if (found !== undefined && nowMs - found.mtimeMs < keyListSettleMs) return undefined;
      state += found === undefined ? "-/" : `${found.dev}:${found.ino}:${found.mtimeMs}/`;
    }
    return state;
  }
}
