/**
 * Notices which minions' key files any program touches, in all four directories. It says nothing about how: the caller compares. Events are gathered
 * for a moment, and the directories are listed now and then, in case the kernel lost an event.
 */
import { type FSWatcher, mkdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import { keyRescanFilesMax, keyRescanMs, keyTouchSettleMs } from "../../limits.ts";
import { idIsValid, keyFolders, keyStates } from "../../store/keys/states.ts";

/** As `KeyDirectories` makes them. */
const folderMode = 0o755;

export type KeyTouchesOptions = {
  readonly pkiDir: string;
  /** Ids that have a file now. */
  readonly present: () => Set<string>;
  /** Ids that should have one. */
  readonly expected: () => Iterable<string>;
  readonly onTouched: (ids: Iterable<string>) => void;
  readonly onFault: (error: unknown) => void;
};

export class KeyTouches {
  readonly #options: KeyTouchesOptions;
  readonly #watchers: FSWatcher[] = [];
  readonly #rescan: NodeJS.Timeout;
  #touched = new Set<string>();
  #settle: NodeJS.Timeout | undefined;
  #firstMs = 0;
  #folderTimes = "";
  #recheck: Iterator<string> | undefined;

  /** Makes missing directories. The watch does not keep the process alive. */
  constructor(options: KeyTouchesOptions) {
    this.#options = options;
    for (const folder of this.#folders()) {
      mkdirSync(folder, { recursive: true, mode: folderMode });
      const watcher = watch(folder, { persistent: false }, (_, name) => this.#touch(name));
      watcher.on("error", options.onFault);
      this.#watchers.push(watcher);
    }
    this.#rescan = setInterval(() => this.#rescanNow(), keyRescanMs);
    this.#rescan.unref();
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
    clearInterval(this.#rescan);
    clearTimeout(this.#settle);
  }

  #folders(): string[] {
    return keyStates.map((state) => join(this.#options.pkiDir, keyFolders[state]));
  }

  #touch(name: string | null): void {
    if (name === null || !idIsValid(name)) return;
    this.#touched.add(name);
    const nowMs = performance.now();
    if (this.#settle === undefined) this.#firstMs = nowMs;
    clearTimeout(this.#settle);
    const leftMs = this.#firstMs + keyTouchSettleMs.longest - nowMs;
    this.#settle = setTimeout(() => this.#report(), Math.max(0, Math.min(keyTouchSettleMs.quiet, leftMs)));
  }

  #report(): void {
    this.#settle = undefined;
    const touched = this.#touched;
    this.#touched = new Set();
    this.#options.onTouched(touched);
  }

  /** Without events: names that came or went if a directory's time changed, and `keyRescanFilesMax` of the files in turn. */
  #rescanNow(): void {
    const { present, expected, onTouched, onFault } = this.#options;
    try {
      const times = this.#folders().map((folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0);
      const ids = new Set<string>();
      if (times.join() !== this.#folderTimes) {
        this.#folderTimes = times.join();
        const [here, there] = [present(), new Set(expected())];
        for (const id of here) if (!there.has(id)) ids.add(id);
        for (const id of there) if (!here.has(id)) ids.add(id);
      }
      this.#recheck ??= expected()[Symbol.iterator]();
      for (let count = 0; count < keyRescanFilesMax; count += 1) {
        const next = this.#recheck.next();
        if (next.done === true) {
          this.#recheck = undefined;
          break;
        }
        ids.add(next.value);
      }
      onTouched(ids);
    } catch (error) {
      onFault(error);
    }
  }
}
