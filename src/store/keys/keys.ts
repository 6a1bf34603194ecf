/**
 * Minions' public keys in Salt's directories: one file per id with the PEM text as received. The directory is the key's state.
 * Source: docs/protocol.md section 3.3; modes as Salt 3008 writes them. Other programs may change the files at any time.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { replaceFile } from "../disk/durable-file.ts";
import { idIsValid, type KeyState, keyFolders, keyStates } from "./states.ts";

export { ensureMasterKeys, presentMasterKeys, takeMasterKeys } from "./master-keys.ts";
export { idIsValid, type KeyState } from "./states.ts";
export { type KeyChange, type KeyWatch, watchKeys, writeDropfile } from "./watch.ts";

const keyFileMode = 0o600;
/** The mode 0700 of `pki_dir` protects these folders. */
const keyFolderMode = 0o755;

export interface KeyDirectories {
  /** The ids in a state, sorted. Leaves out dotfiles and names that are not ids. */
  list(state: KeyState): string[];
  /** The key's text; undefined if there is no such file, or if it is a directory. */
  read(state: KeyState, id: string): string | undefined;
  /** A stamp of the file, which each change of the file changes; undefined if `read` returns undefined. Costs a fifth of reading. */
  stampOf(state: KeyState, id: string): string | undefined;
  /** The key's state; undefined if the id has no key. If it has several, accepted counts first. */
  stateOf(id: string): KeyState | undefined;
  /** Stores or replaces a key atomically. @throws SaltworksError STORE_FAILED, also for an invalid id */
  write(state: KeyState, id: string, pem: string): void;
  /** @returns false if there was no key to move */
  move(id: string, from: KeyState, to: KeyState): boolean;
  /** @returns false if there was no key to remove */
  remove(state: KeyState, id: string): boolean;
}

class FileKeyDirectories implements KeyDirectories {
  readonly #pkiDir: string;

  constructor(pkiDir: string) {
    this.#pkiDir = pkiDir;
  }

  list(state: KeyState): string[] {
    try {
      return readdirSync(join(this.#pkiDir, keyFolders[state])).filter(idIsValid).sort();
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return [];
      throw failed(`keys in state ${state} cannot be listed`, error);
    }
  }

  read(state: KeyState, id: string): string | undefined {
    if (!idIsValid(id)) return undefined;
    const path = this.#path(state, id);
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      if (hasCodeIn(error, "ENOENT", "EISDIR")) return undefined;
      throw failed(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, error);
    }
  }

  stampOf(state: KeyState, id: string): string | undefined {
    if (!idIsValid(id)) return undefined;
    const stat = statSync(this.#path(state, id), { throwIfNoEntry: false });
    if (stat === undefined || stat.isDirectory()) return undefined;
    return `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
  }

  stateOf(id: string): KeyState | undefined {
    return idIsValid(id) ? keyStates.find((state) => existsSync(this.#path(state, id))) : undefined;
  }

  write(state: KeyState, id: string, pem: string): void {
    if (!idIsValid(id)) throw new SaltworksError("STORE_FAILED", "not a valid minion id");
    const path = this.#path(state, id);
    try {
      replaceFile(path, pem, keyFileMode);
    } catch (error) {
      if (!hasCodeIn(error, "ENOENT")) throw failed(`a key in state ${state} cannot be written`, error);
      this.#makeFolder(state);
      replaceFile(path, pem, keyFileMode);
    }
  }

  move(id: string, from: KeyState, to: KeyState): boolean {
    if (!idIsValid(id)) return false;
    this.#makeFolder(to);
    return ifThere(() => renameSync(this.#path(from, id), this.#path(to, id)), `a key cannot be moved to ${to}`);
  }

  remove(state: KeyState, id: string): boolean {
    if (!idIsValid(id)) return false;
    return ifThere(() => unlinkSync(this.#path(state, id)), `a key in state ${state} cannot be removed`);
  }

  #path(state: KeyState, id: string): string {
    return join(this.#pkiDir, keyFolders[state], id);
  }

  #makeFolder(state: KeyState): void {
    mkdirSync(join(this.#pkiDir, keyFolders[state]), { recursive: true, mode: keyFolderMode });
  }
}

function failed(message: string, cause: unknown): SaltworksError {
  return new SaltworksError("STORE_FAILED", message, {}, { cause });
}

function ifThere(step: () => void, message: string): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return false;
    throw failed(message, error);
  }
}

/** Opens the directories of keys. A missing directory counts as empty; `write` and `move` make it. */
export function openKeyDirectories(pkiDir: string): KeyDirectories {
  return new FileKeyDirectories(pkiDir);
}
