/**
 * The changes of the record of keys since it was last written whole, so that `kill -9` forgets none. A change is appended in the turn in which it is made,
 * without a sync: a loss of power may keep a line and lose the key file that it is about, so lines of another boot do not count.
 */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { hasCodeIn, isNotThere } from "../../config/files/system-errors.ts";

const version = 1;
const fileMode = 0o600;
const folderMode = 0o700;
const bootFile = "/proc/sys/kernel/random/boot_id";

/** `begin`: the record was emptied. `bucket`: it is of this bucket from then on. */
export type RecordChange =
  | readonly ["set", id: string, revision: number, digest: string]
  | readonly ["delete", id: string]
  | readonly ["begin"]
  | readonly ["bucket", bucket: string];
/** `base`: hash of the record that the changes come after. `saving`: what comes next comes after the record with this hash, too. */
type Head = readonly ["journal", number, boot: string, base: string];
type Line = Head | RecordChange | readonly ["saving", hash: string];

export class RecordJournal {
  readonly #file: string;
  readonly #onFault: (error: unknown) => void;
  readonly #boot = bootId();
  #waiting: Line[] = [];
  /** Lines since `noteSaving`. */
  #sinceSaving: Line[] = [];
  #handle: number | undefined;

  constructor(file: string, onFault: (error: unknown) => void) {
    this.#file = file;
    this.#onFault = onFault;
  }

  /** The changes that come after the record with hash `base`, which is empty without a record. */
  load(base: string): RecordChange[] {
    const changes = this.#read(base);
    this.#sinceSaving = [...changes];
    this.#restart(base);
    return changes;
  }

  /** Writes the change before the present turn of the event loop ends. */
  append(change: RecordChange): void {
    this.#add(change);
  }

  /** The record is about to be written whole, as it is now. */
  noteSaving(hash: string): void {
    this.#add(["saving", hash]);
    this.#sinceSaving = [];
  }

  /** The record with this hash is on disk: what came before it is dropped. */
  noteSaved(hash: string): void {
    this.#flush();
    this.#restart(hash);
  }

  close(): void {
    this.#flush();
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
  }

  #add(line: Line): void {
    if (this.#waiting.length === 0) queueMicrotask(() => this.#flush());
    this.#waiting.push(line);
    this.#sinceSaving.push(line);
  }

  #flush(): void {
    const lines = this.#waiting;
    this.#waiting = [];
    if (lines.length === 0 || this.#handle === undefined) return;
    try {
      writeSync(this.#handle, textOf(lines));
    } catch (error) {
      this.#onFault(error);
    }
  }

  #restart(base: string): void {
    if (this.#boot === undefined) return;
    try {
      const temporary = `${this.#file}.new`;
      mkdirSync(dirname(this.#file), { recursive: true, mode: folderMode });
      writeFileSync(temporary, textOf([["journal", version, this.#boot, base], ...this.#sinceSaving]), {
        mode: fileMode,
      });
      renameSync(temporary, this.#file);
      if (this.#handle !== undefined) closeSync(this.#handle);
      this.#handle = undefined;
      this.#handle = openSync(this.#file, "a", fileMode);
    } catch (error) {
      this.#onFault(error);
    }
  }

  #read(base: string): RecordChange[] {
    let text: string;
    try {
      text = readFileSync(this.#file, "utf8");
    } catch (error) {
      if (!hasCodeIn(error, "ENOENT", "ENOTDIR")) this.#onFault(error);
      return [];
    }
    const [head, ...lines] = linesOf(text);
    if (head?.[0] !== "journal" || head[1] !== version || head[2] !== this.#boot) return [];
    const from = head[3] === base ? 0 : lines.findLastIndex(([kind, hash]) => kind === "saving" && hash === base) + 1;
    if (from === 0 && head[3] !== base) return [];
    return lines.slice(from).filter((line): line is RecordChange => line[0] !== "saving" && line[0] !== "journal");
  }
}

function textOf(lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Up to the first line that is not whole, as a full disk leaves it. */
function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  // What follows the last line's end is empty, or a line that was cut.
  for (const line of text.split("\n").slice(0, -1)) {
    try {
      lines.push(JSON.parse(line) as Line);
    } catch {
      return lines;
    }
  }
  return lines;
}

/** Undefined on a system that does not tell one: lines are not written then. */
function bootId(): string | undefined {
  try {
    return readFileSync(bootFile, "utf8").trim();
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}
