/**
 * Minions' public keys in Salt's directories: one file per id, its content the PEM text as received, its directory the state.
 * Source: docs/protocol.md section 3.3; modes as Salt 3008 writes them. Other programs may change the files at any time.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { replaceFile } from "../disk/durable-file.ts";
import { idIsValid, type KeyState, keyFolders, keyStates } from "./states.ts";

export { ensureMasterKeys } from "./master-keys.ts";
export { idIsValid, type KeyState } from "./states.ts";
export { type KeyChange, type KeyWatch, watchKeys, writeDropfile } from "./watch.ts";

const keyFileMode = 0o600;
/** `pki_dir` itself is 0700, which is what protects these. */
const keyFolderMode = 0o755;

export interface KeyDirectories {
  /** Ids in a state, sorted; dotfiles and names that are not ids are left out. */
  list(state: KeyState): string[];
  /** The key's text; undefined if there is none (a directory of that name counts as none). */
  read(state: KeyState, id: string): string | undefined;
  /** What names this very file: another after each change to it; undefined where `read` gives undefined. A fifth of the price of reading. */
  stampOf(state: KeyState, id: string): string | undefined;
  /** The state whose directory holds the id, accepted first; undefined if none does. */
  stateOf(id: string): KeyState | undefined;
  /** Stores or replaces, atomically. @throws SaltworksError STORE_FAILED, also for an id that is not valid */
  write(state: KeyState, id: string, pem: string): void;
  /** @returns false if there was nothing to move */
  move(id: string, from: KeyState, to: KeyState): boolean;
  /** @returns false if there was nothing to remove */
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

/** Missing directories count as empty; `write` and `move` make what they need. */
export function openKeyDirectories(pkiDir: string): KeyDirectories {
  return new FileKeyDirectories(pkiDir);
}
