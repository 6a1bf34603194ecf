/**
 * Watches the accepted keys for changes by other programs: Salt's `salt-key`, `cp`, `rm`. Also watches for the dropfile by which Salt's tools ask
 * for a new AES key. Changes are gathered, so that one command is one change.
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
/** Files read per turn of the event loop when the watch starts. They take 0.5 ms. */
const firstLookCount = 200;
/** A directory that is never quiet is read after this many times `settleMs`, so that a change takes effect within a second. */
const settleCountMax = 4;
/** After a removal the watch waits this many times `settleMs`, because Salt 3008 writes its dropfile some 250 ms after its last removal. */
const removalSettleCount = 2.5;
/** Two changes of a directory within a step of the kernel's clock give it the same time. So one that changed this recently is listed again. */
const mtimeStepMs = 50;

/** The changes of one command to the accepted keys. `rotate`: it also asked for a new AES key. */
export type KeyChange = {
  readonly added: string[];
  readonly removed: string[];
  readonly changed: string[];
  readonly rotate: boolean;
};
export interface KeyWatch {
  /** Checks the files of newly served ids soon, because they may already be gone. */
  noteServed(ids: readonly string[]): void;
  /** Reports new keys at once. If there are none, it costs one `stat` of the directory. */
  lookForNew(): void;
  close(): void;
}
export type KeyWatchOptions = {
  /** The master's `id`, which a dropfile must name. */
  readonly masterId: string;
  readonly settleMs: number;
  /** The ids that the master serves now, kept current. A served id without a file is reported as removed, another id with a file as added. */
  readonly served: ReadonlySet<string>;
  /** Interval at which the directory is checked again, in case the kernel lost an event. Default: `keyRescanMs`. */
  readonly rescanMs?: number;
  readonly onError?: (error: unknown) => void;
};

/** A file's identity: its inode, size and time. Empty until the file has been read. */
type Fingerprint = string;

class DirectoryKeyWatch implements KeyWatch {
  readonly #accepted: string;
  readonly #dropfile: string;
  readonly #options: KeyWatchOptions;
  readonly #onChange: (change: KeyChange) => void;
  readonly #watchers: FSWatcher[] = [];
  readonly #rescan: NodeJS.Timeout;
  /** The ids that were reported to the caller, with their files' fingerprints. */
  readonly #known = new Map<string, Fingerprint>();
  readonly #touched = new Set<string>();
  #mustList = true;
  #listedMtimeMs = 0;
  #newListedMtimeMs = 0;
  #settle: NodeJS.Timeout | undefined;
  #firstEventMs = 0;
  /** A known key was touched since the last look. It may be removed, and a dropfile may follow. */
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
      // The dropfile is the last step of Salt's command, so the wait after a removal ends.
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

  /** Takes the fingerprints of the files at the start, a few per turn of the event loop, because a fleet has many files. */
  #lookAtFirst(ids: string[], from: number): void {
    if (this.#isClosed) return;
    for (const id of ids.slice(from, from + firstLookCount)) {
      if (this.#known.get(id) === "" && !this.#touched.has(id)) this.#lookAt(id);
    }
    if (from + firstLookCount < ids.length) setImmediate(() => this.#lookAtFirst(ids, from + firstLookCount));
  }

  /** Takes a file's fingerprint. If it fails now, the file counts as changed once it succeeds. */
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

  /** Plans a look once the directory is quiet, at the latest `settleCountMax` times `settleMs` after the first event. */
  #soon(): void {
    const { settleMs } = this.#options;
    const quietMs = this.#hasRemoval ? removalSettleCount * settleMs : settleMs;
    const nowMs = performance.now();
    if (this.#settle === undefined) this.#firstEventMs = nowMs;
    clearTimeout(this.#settle);
    const latestMs = this.#firstEventMs + settleCountMax * settleMs;
    this.#settle = setTimeout(() => this.#look(), Math.max(0, Math.min(quietMs, latestMs - nowMs)));
  }

  /** Works without events: checks each served id that has no known file, and `keyRescanFilesMax` of the known files in turn. */
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
      // The directory may be being replaced. The next look lists it again.
      this.#mustList = true;
      this.#options.onError?.(error);
    }
  }

  /** If the directory's time changed, or an event had no name: lists it, and marks ids that differ from the known ones as touched. */
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
        // The id stays in `#touched` for the next look. Changes of the other ids are reported now.
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

  /** Takes the fingerprint of a key. @returns false if the key does not exist */
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

  /** Removes the dropfile if it is valid by Salt's rules: mode 0400, and empty or with the master's id. Another master's dropfile stays. */
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
 * Calls `onChange` for changes from now on, within a second, gathered over `settleMs`.
 * Makes missing directories. The watch does not keep the process alive.
 */
export function watchKeys(
  pkiDir: string,
  cachedir: string,
  onChange: (change: KeyChange) => void,
  options: KeyWatchOptions,
): KeyWatch {
  return new DirectoryKeyWatch(pkiDir, cachedir, onChange, options);
}

/** Asks the running master, ours or Salt's, for a new AES key, as `salt-key -d` does. */
export function writeDropfile(cachedir: string, masterId: string): void {
  replaceFile(join(cachedir, dropfileName), masterId, dropfileMode);
}
