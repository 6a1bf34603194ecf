/** The key directories of this member, read and replaced as one set of files for each minion. */
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { publicKeyBytesMax } from "../../limits.ts";
import { type KeyDirectories, openKeyDirectories } from "../../store/keys/keys.ts";
import { type KeyState, keyFolders, keyStates } from "../../store/keys/states.ts";
import type { KeySet } from "./entry.ts";

/** Another program moves a file in microseconds, so a second look nearly always agrees with the first. */
const looksMax = 5;

/**
 * `keys`: the files of one moment. `unusable`: states whose file is empty or exceeds `publicKeyBytesMax`, as a program that is writing it or a loss of
 * power leaves it.
 */
export type LocalSet = { readonly keys: KeySet; readonly unusable: readonly KeyState[] };

export class LocalKeys {
  readonly #pkiDir: string;
  readonly #directories: KeyDirectories;

  constructor(pkiDir: string) {
    this.#pkiDir = pkiDir;
    this.#directories = openKeyDirectories(pkiDir);
  }

  /** Whether the directory of accepted keys is missing, as before a late mount. Its keys are then not deleted. */
  get isMissing(): boolean {
    return !existsSync(join(this.#pkiDir, keyFolders.accepted));
  }

  /** Ids with a file in any state. @throws SaltworksError STORE_FAILED */
  ids(): Set<string> {
    return new Set(keyStates.flatMap((state) => this.#directories.list(state)));
  }

  /**
   * The files of an id. A file that moves while they are read is seen once, never missed: states are read until two looks agree.
   *
   * @returns undefined if they change all the time
   * @throws SaltworksError STORE_FAILED
   */
  read(id: string): LocalSet | undefined {
    let before = this.#stamps(id);
    for (let look = 0; look < looksMax; look += 1) {
      const keys: Partial<Record<KeyState, string>> = {};
      const unusable: KeyState[] = [];
      for (const [index, state] of keyStates.entries()) {
        // A read of a missing file costs as much as all the rest, because it throws.
        const text = before[index] === undefined ? undefined : this.#directories.read(state, id);
        if (text === undefined) continue;
        keys[state] = text;
        if (text.trim() === "" || Buffer.byteLength(text) > publicKeyBytesMax) unusable.push(state);
      }
      const after = this.#stamps(id);
      if (after.every((stamp, index) => stamp === before[index])) return { keys, unusable };
      before = after;
    }
    return undefined;
  }

  /** Makes the files of an id equal to `to`. A key is never missing meanwhile: what comes is written before what goes is removed. @throws SaltworksError STORE_FAILED */
  replace(id: string, from: KeySet, to: KeySet): void {
    for (const state of keyStates) {
      const text = to[state];
      if (text !== undefined && text !== from[state]) this.#directories.write(state, id, text);
    }
    for (const state of keyStates) {
      if (to[state] === undefined && from[state] !== undefined) this.#directories.remove(state, id);
    }
  }

  /** Makes renames and removals durable. A loss of power would otherwise bring back what was deleted, and it would look like a new key. */
  async sync(): Promise<void> {
    for (const state of keyStates) await syncFolder(join(this.#pkiDir, keyFolders[state]));
  }

  #stamps(id: string): (string | undefined)[] {
    return keyStates.map((state) => this.#directories.stampOf(state, id));
  }
}

/** Syncs a directory without blocking the thread. One that does not exist has nothing to sync. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!hasCodeIn(error, "ENOENT")) throw error;
  }
}
