/** The place up to which a member has taken the cluster's jobs, in a file, so that a member that starts again sends none twice. */
import { readFileSync } from "node:fs";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { replaceFile } from "../../store/disk/durable-file.ts";

const mode = 0o600;
const form = /^(\d+) (.+)\n$/;

export class JobPlace {
  readonly #file: string;
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

  get serial(): number {
    return this.#serial;
  }

  /** Which stream the serial is of. It differs for one of the same name that was made anew. */
  get stream(): string {
    return this.#stream;
  }

  /** Not synced: after a loss of power some jobs are taken again, and minions drop them by their serial. @throws the system's error */
  move(stream: string, serial: number): void {
    this.#serial = serial;
    this.#stream = stream;
    replaceFile(this.#file, `${serial} ${stream}\n`, mode);
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
