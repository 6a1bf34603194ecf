/** A returner of `event_return` in the site's own Python. It has a Python process of its own, so that a slow one holds up nothing else. */
import type { EventRow, EventSink, EventsWritten } from "../databases/contract/events.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { databaseStatementMs } from "../limits.ts";
import type { SidecarSettings } from "../sidecar/contract.ts";
import { PythonProcess } from "../sidecar/python-process.ts";

export class PythonEvents implements EventSink {
  readonly name: string;
  readonly place: string;
  readonly #settings: SidecarSettings;
  #process: PythonProcess | undefined;

  constructor(name: string, settings: SidecarSettings) {
    this.name = name;
    this.place = `${name} in ${settings.python}`;
    this.#settings = settings;
  }

  async check(): Promise<void> {
    await this.#told(async () => {
      await this.#running();
    });
  }

  /** Python does not say which events it has written, so that those of a failed attempt are written again. */
  async write(rows: readonly EventRow[]): Promise<EventsWritten> {
    const events = rows.map(({ tag, data }) => ({ tag, json: data }));
    await this.#told(async () => {
      const process = await this.#running();
      await process.ask({ kind: "event_return", name: this.name, events }, databaseStatementMs);
    });
    return { added: rows.length, present: 0 };
  }

  async close(): Promise<void> {
    this.#process?.end();
  }

  async #running(): Promise<PythonProcess> {
    if (this.#process === undefined || this.#process.isEnded) this.#process = await PythonProcess.start(this.#settings);
    return this.#process;
  }

  /** @throws SaltworksError DATABASE_FAILED, with what Python said */
  async #told(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      const message = hasCode(error, "FUNCTION_FAILED")
        ? `${String((error as SaltworksError).detail.className)}: ${(error as Error).message}`
        : (error as Error).message;
      throw new SaltworksError("DATABASE_FAILED", `${this.place}: ${message}`, {}, { cause: error });
    }
  }
}
