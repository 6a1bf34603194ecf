/**
 * Sees what others do to the accepted keys: Salt's own `salt-key`, a copy, an `rm`; and the dropfile with which Salt's tools
 * ask for a new AES key. Changes are gathered, so that one command is one change.
 * Source: docs/protocol.md section 6.3 (3006 writes the dropfile empty, 3007 and 3008 write the master's id into it).
 */
import { type FSWatcher, mkdirSync, readdirSync, readFileSync, statSync, unlinkSync, watch } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { keyRescanFilesMax, keyRescanMs } from "../../limits.ts";
import { replaceFile } from "../disk/durable-file.ts";
import { idIsValid, keyFolders } from "./states.ts";

const dropfileName = ".dfn";
const dropfileMode = 0o400;
const permissionBits = 0o777;
/** Files looked at per turn of the event loop when the watch starts: half a millisecond. */
const firstLookCount = 200;
/** A directory that is never quiet is looked at after this many settling times, so that a change takes effect within a second. */
const settleCountMax = 4;
/** Settling times to wait after a key went: Salt 3008 writes its dropfile some 250 ms after the last key that it deletes. */
const removalSettleCount = 2.5;
/** Two changes of a directory within one step of the kernel's clock leave the same time on it: a listing this fresh is made again. */
const mtimeStepMs = 50;

/** What one command did to the accepted keys; `rotate` says that it also asked for a new AES key. */
export type KeyChange = {
  readonly added: string[];
  readonly removed: string[];
  readonly changed: string[];
  readonly rotate: boolean;
};
export interface KeyWatch {
  /** Looks soon at ids that the master serves from now on, because their files may be gone already. */
  noteServed(ids: readonly string[]): void;
  /** Reports new keys at once. Costs one look at the directory's time while there are none. */
  lookForNew(): void;
  close(): void;
}
export type KeyWatchOptions = {
  /** The master's `id`, which a dropfile must name. */
  readonly masterId: string;
  readonly settleMs: number;
  /** The ids that the master serves, at any time. One without a file is reported as removed, one with a file that is not among them as added. */
  readonly served: ReadonlySet<string>;
  /** The directory is listed again this often, should the kernel have lost an event. */
  readonly rescanMs?: number;
  readonly onError?: (error: unknown) => void;
};

/** A file's identity: another inode, size or time is another key. Empty until it has been looked at. */
type Fingerprint = string;

class DirectoryKeyWatch implements KeyWatch {
  readonly #accepted: string;
  readonly #dropfile: string;
  readonly #options: KeyWatchOptions;
  readonly #onChange: (change: KeyChange) => void;
  readonly #watchers: FSWatcher[] = [];
  readonly #rescan: NodeJS.Timeout;
  /** What the caller was told of, and which file each was. */
  readonly #known = new Map<string, Fingerprint>();
  readonly #touched = new Set<string>();
  #mustList = true;
  #listedMtimeMs = 0;
  #newListedMtimeMs = 0;
  #settle: NodeJS.Timeout | undefined;
  #firstEventMs = 0;
  /** A known key was touched since the last look: perhaps it is gone, and a dropfile follows. */
  #hasRemoval = false;
  #recheck: Iterator<string> | undefined;
  #isClosed = false;

  constructor(pkiDir: string, cachedir: string, onChange: (change: KeyChange) => void, options: KeyWatchOptions) {
    this.#accepted = join(pkiDir, keyFolders.accepted);
    this.#dropfile = join(cachedir, dropfileName);
    this.#options = options;
    this.#onChange = onChange;
    for (const directory of [this.#accepted, cachedir]) mkdirSync(directory, { recursive: true });
    this.#watch(this.#accepted, (name) => this.#touch(name));
    this.#watch(cachedir, (name) => {
      if (name !== null && name !== dropfileName) return;
      // With it a command of Salt's is over: nothing more to wait for.
      this.#hasRemoval = false;
      this.#soon();
    });
    const present = this.#list().filter((id) => options.served.has(id));
    for (const id of present) this.#known.set(id, "");
    this.#lookAtFirst(present, 0);
    this.#rescan = setInterval(() => this.#rescanNow(), options.rescanMs ?? keyRescanMs);
    this.#rescan.unref();
    this.#soon();
  }

  noteServed(ids: readonly string[]): void {
    if (this.#isClosed) return;
    for (const id of ids) this.#touched.add(id);
    this.#soon();
  }

  lookForNew(): void {
    if (this.#isClosed) return;
    try {
      const { mtimeMs } = statSync(this.#accepted);
      if (mtimeMs === this.#newListedMtimeMs) return;
      const isFresh = Date.now() - mtimeMs < mtimeStepMs;
      const added = this.#list().filter((id) => !this.#known.has(id) && this.#learn(id));
      this.#newListedMtimeMs = isFresh ? 0 : mtimeMs;
      if (added.length > 0) this.#onChange({ added, removed: [], changed: [], rotate: false });
    } catch (error) {
      this.#options.onError?.(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers) watcher.close();
    clearInterval(this.#rescan);
    clearTimeout(this.#settle);
  }

  #watch(directory: string, onEvent: (name: string | null) => void): void {
    const watcher = watch(directory, { persistent: false }, (_, name) => onEvent(name));
    watcher.on("error", (error) => this.#options.onError?.(error));
    this.#watchers.push(watcher);
  }

  /** Fingerprints of what was there at the start, a few per turn: a fleet has many files. */
  #lookAtFirst(ids: string[], from: number): void {
    if (this.#isClosed) return;
    for (const id of ids.slice(from, from + firstLookCount)) {
      if (this.#known.get(id) === "" && !this.#touched.has(id)) this.#lookAt(id);
    }
    if (from + firstLookCount < ids.length) setImmediate(() => this.#lookAtFirst(ids, from + firstLookCount));
  }

  /** One that cannot be looked at now is new when it can be. */
  #lookAt(id: string): void {
    try {
      this.#known.set(id, this.#fingerprint(id) ?? "");
    } catch (error) {
      this.#options.onError?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #touch(name: string | null): void {
    if (name === null) this.#mustList = true;
    else if (idIsValid(name)) this.#touched.add(name);
    else return;
    if (name !== null && (this.#known.has(name) || this.#options.served.has(name))) this.#hasRemoval = true;
    this.#soon();
  }

  /** Waits until the directory has been quiet, but never so long that a busy one hides a change for a second. */
  #soon(): void {
    const { settleMs } = this.#options;
    const quietMs = this.#hasRemoval ? removalSettleCount * settleMs : settleMs;
    const nowMs = performance.now();
    if (this.#settle === undefined) this.#firstEventMs = nowMs;
    clearTimeout(this.#settle);
    const latestMs = this.#firstEventMs + settleCountMax * settleMs;
    this.#settle = setTimeout(() => this.#look(), Math.max(0, Math.min(quietMs, latestMs - nowMs)));
  }

  /** Whatever the kernel told or lost: each id that is served has to have its file, and some files are looked at again in turn. */
  #rescanNow(): void {
    for (const id of this.#options.served) if (!this.#known.has(id)) this.#touched.add(id);
    for (let count = 0; count < keyRescanFilesMax; count += 1) {
      this.#recheck ??= this.#known.keys();
      const next = this.#recheck.next();
      if (next.done === true) {
        this.#recheck = undefined;
        break;
      }
      this.#touched.add(next.value);
    }
    this.#look();
  }

  #look(): void {
    clearTimeout(this.#settle);
    this.#settle = undefined;
    this.#hasRemoval = false;
    try {
      this.#touchUnlisted();
      const change = this.#takeChange();
      const count = change.added.length + change.removed.length + change.changed.length;
      if (count > 0 || change.rotate) this.#onChange(change);
    } catch (error) {
      // A directory that is being replaced: the next look sees what became of it.
      this.#mustList = true;
      this.#options.onError?.(error);
    }
  }

  /** If the directory's own time moved (or an event had no name), whatever its listing says beside what is known. */
  #touchUnlisted(): void {
    const { mtimeMs } = statSync(this.#accepted);
    if (!this.#mustList && mtimeMs === this.#listedMtimeMs) return;
    const isFresh = Date.now() - mtimeMs < mtimeStepMs;
    const present = new Set(this.#list());
    for (const id of present) if (!this.#known.has(id)) this.#touched.add(id);
    for (const id of this.#known.keys()) if (!present.has(id)) this.#touched.add(id);
    this.#listedMtimeMs = mtimeMs;
    this.#mustList = isFresh;
  }

  #takeChange(): KeyChange {
    const change: KeyChange = { added: [], removed: [], changed: [], rotate: this.#takeDropfile() };
    for (const id of this.#touched) {
      const before = this.#known.get(id);
      let now: Fingerprint | undefined;
      try {
        now = this.#fingerprint(id);
      } catch (error) {
        // It stays among those to be looked at, and what was seen of the others is told.
        this.#options.onError?.(error);
        continue;
      }
      this.#touched.delete(id);
      if (now === undefined) {
        this.#known.delete(id);
        if (before !== undefined || this.#options.served.has(id)) change.removed.push(id);
      } else if (now !== before) {
        this.#known.set(id, now);
        (before === undefined ? change.added : change.changed).push(id);
      }
    }
    return change;
  }

  /** @returns false if the key is not there */
  #learn(id: string): boolean {
    const now = this.#fingerprint(id);
    if (now !== undefined) this.#known.set(id, now);
    return now !== undefined;
  }

  #list(): string[] {
    return readdirSync(this.#accepted).filter(idIsValid);
  }

  #fingerprint(id: string): Fingerprint | undefined {
    const stat = statSync(join(this.#accepted, id), { throwIfNoEntry: false });
    return stat?.isFile() ? `${stat.ino}:${stat.size}:${stat.mtimeMs}` : undefined;
  }

  /** Salt's rules: mode exactly 0400, content the master's id or nothing; another's dropfile is left alone. */
  #takeDropfile(): boolean {
    try {
      const stat = statSync(this.#dropfile);
      if (!stat.isFile() || (stat.mode & permissionBits) !== dropfileMode) return false;
      const content = readFileSync(this.#dropfile, "utf8");
      if (content !== "" && content !== this.#options.masterId) return false;
      unlinkSync(this.#dropfile);
      return true;
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return false;
      throw error;
    }
  }
}

/**
 * Calls `onChange` for whatever changes from now on, within a second, gathered over `settleMs`.
 * Directories that are missing are made. The watch does not keep the process alive.
 */
export function watchKeys(
  pkiDir: string,
  cachedir: string,
  onChange: (change: KeyChange) => void,
  options: KeyWatchOptions,
): KeyWatch {
  return new DirectoryKeyWatch(pkiDir, cachedir, onChange, options);
}

/** Asks the running master, whosever it is, for a new AES key, as `salt-key -d` does. */
export function writeDropfile(cachedir: string, masterId: string): void {
  replaceFile(join(cachedir, dropfileName), masterId, dropfileMode);
}
