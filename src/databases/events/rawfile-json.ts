/** Appends events to a file, a line of JSON each, as Salt's returner `rawfile_json` does. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { SaltworksError } from "../../errors.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import type { EventDriver, EventRow, EventSink, EventsWritten } from "../contract/events.ts";
import { jsonText } from "../contract/packed-json.ts";

/** Returns may hold secrets, so other users do not read a new file. One that exists keeps its mode. */
const newFileMode = 0o640;
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;

export const rawfileEvents: EventDriver = {
  open: (config) => new RawfileEvents(config),
};

/** Opens the file for each batch, so that a file that was renamed or removed meanwhile is begun anew. */
class RawfileEvents implements EventSink {
  readonly name = "rawfile_json";
  readonly place: string;

  constructor(config: DatabaseConfig) {
    this.place = config["rawfile_json.filename"];
  }

  async check(): Promise<void> {
    await this.#withFile(async () => undefined);
  }

  async write(rows: readonly EventRow[]): Promise<EventsWritten> {
    const lines = rows.map(({ tag, data }) => `{"data": ${data}, "tag": ${jsonText(tag)}}\n`);
    await this.#withFile((file) => appendWhole(file, lines.join("")));
    return { added: rows.length, present: 0 };
  }

  async close(): Promise<void> {}

  async #withFile(step: (file: FileHandle) => Promise<void>): Promise<void> {
    try {
      const file = await open(this.place, appending, newFileMode);
      try {
        await step(file);
      } finally {
        await file.close();
      }
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      const text = `${this.place} cannot be written (${reason})`;
      throw new SaltworksError("DATABASE_FAILED", text, { reason }, { cause: error });
    }
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
