/** Appends events to a file, a line of JSON each, as Salt's returner `rawfile_json` does. */
import type { FileHandle } from "node:fs/promises";
import { openRegularFile } from "../../config/host/regular-file.ts";
import { SaltworksError } from "../../errors.ts";
import { databaseStatementMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { deadline } from "../contract/deadline.ts";
import type { EventDriver, EventRow, EventSink, EventsWritten } from "../contract/events.ts";
import { jsonText } from "../contract/packed-json.ts";

/** Returns may hold secrets, so other users do not read a new file. One that exists keeps its mode. */
const newFileMode = 0o640;

export const rawfileEvents: EventDriver = {
  open: (config: DatabaseConfig) => new RawfileEvents(config["rawfile_json.filename"]),
};

type Append = (path: string, text: string) => Promise<void>;

/**
 * Opens the file for each batch, so that a file that was renamed or removed meanwhile is begun anew. A hanging file system ends no call: such a call is
 * left after a deadline, and no other is begun until it has ended, because each holds a thread of Node.js.
 */
export class RawfileEvents implements EventSink {
  readonly name = "rawfile_json";
  readonly place: string;
  readonly #append: Append;
  readonly #timeoutMs: number;
  #isBusy = false;
  /** Of the last event that the file has, also by a call that was left. */
  #lastSerial = -1;

  /** `append` and `timeoutMs`: for tests. */
  constructor(
    place: string,
    {
      append = appendTo,
      timeoutMs = databaseStatementMs,
    }: { readonly append?: Append; readonly timeoutMs?: number } = {},
  ) {
    this.place = place;
    this.#append = append;
    this.#timeoutMs = timeoutMs;
  }

  async check(): Promise<void> {
    await this.#run([], "");
  }

  async write(rows: readonly EventRow[]): Promise<EventsWritten> {
    const absent = rows.filter(({ serial }) => serial > this.#lastSerial);
    const lines = absent.map(({ tag, data }) => `{"data": ${data}, "tag": ${jsonText(tag)}}\n`);
    await this.#run(absent, lines.join(""));
    return { added: absent.length, present: rows.length - absent.length };
  }

  async close(): Promise<void> {}

  async #run(rows: readonly EventRow[], text: string): Promise<void> {
    try {
      if (this.#isBusy) throw new Error("an earlier write has not ended yet");
      await deadline(this.#begin(rows, text), this.#timeoutMs, () => undefined);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const reason = code === undefined || code === "TIMEOUT" ? message : code;
      const why = `${this.place} cannot be written (${reason})`;
      throw new SaltworksError("DATABASE_FAILED", why, { reason }, { cause: error });
    }
  }

  async #begin(rows: readonly EventRow[], text: string): Promise<void> {
    this.#isBusy = true;
    try {
      await this.#append(this.place, text);
      this.#lastSerial = rows.at(-1)?.serial ?? this.#lastSerial;
    } finally {
      this.#isBusy = false;
    }
  }
}

async function appendTo(path: string, text: string): Promise<void> {
  const file = await openRegularFile(path, newFileMode);
  try {
    if (text !== "") await appendWhole(file, text);
  } finally {
    await file.close();
  }
}

/** After a failure, as on a full disk, nothing of the text stays, so that the next try leaves neither torn nor double lines. */
async function appendWhole(file: FileHandle, text: string): Promise<void> {
  const { size } = await file.stat();
  try {
    await file.appendFile(text);
  } catch (error) {
    await file.truncate(size);
    throw error;
  }
}
