/** The place up to which a member has taken the cluster's jobs, in a file, so that a member that starts again sends none twice. It stays before a job that is not stored yet. */
import { readFileSync } from "node:fs";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { replaceFile } from "../../store/disk/durable-file.ts";

const mode = 0o600;
const form = /^(\d+) (.+)\n$/;

export class JobPlace {
  readonly #file: string;
  /** Jobs that are not stored yet, oldest first. Bounded by what waits in memory to be stored. */
  readonly #held = new Set<{ readonly serial: number }>();
  #serial = 0;
  #stream = "";

  /** A file that is missing or damaged counts as a member that is new. @throws the system's error for a file that cannot be read */
  constructor(file: string) {
    this.#file = file;
    const [, serial, stream] = form.exec(readIfThere(file)) ?? [];
    if (serial === undefined || stream === undefined) return;
    this.#serial = Number(serial);
    this.#stream = stream;
  }

  /** The newest job that was taken. After a start it may be an older one, before a job that was not stored. */
  get serial(): number {
    return this.#serial;
  }

  /** Which stream the serial is of. It differs for one of the same name that was made anew. */
  get stream(): string {
    return this.#stream;
  }

  /** Not synced: after a loss of power some jobs are taken again, and minions drop them by their serial. @throws the system's error */
  move(stream: string, serial: number): void {
    // A stream that is gone gives no job again.
    if (stream !== this.#stream) this.#held.clear();
    this.#serial = serial;
    this.#stream = stream;
    this.#write();
  }

  /**
   * Keeps the file before a job of this stream, so that the member reads the job again if it ends meanwhile. To call in the jobs' order, before `move`.
   *
   * @returns what lets the file go on. It throws the system's error
   */
  hold(stream: string, serial: number): () => void {
    if (stream !== this.#stream) this.#held.clear();
    this.#stream = stream;
    const held = { serial };
    this.#held.add(held);
    return () => {
      const [oldest] = this.#held;
      this.#held.delete(held);
      if (oldest === held) this.#write();
    };
  }

  #write(): void {
    const [oldest] = this.#held;
    const serial = oldest === undefined ? this.#serial : oldest.serial - 1;
    replaceFile(this.#file, `${serial} ${this.#stream}\n`, mode);
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return "";
    throw error;
  }
}
