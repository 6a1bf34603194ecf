/** A returner of `event_return` in the site's own Python. It has a Python process of its own, so that a slow one holds up nothing else. */
import type { EventRow, EventSink, EventsWritten } from "../databases/contract/events.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { databaseStatementMs } from "../limits.ts";
import type { SidecarSettings } from "../sidecar/contract.ts";
import { PythonProcess } from "../sidecar/python-process.ts";

/** An event that fails so often, and always alone, is given up. */
const loneTriesMax = 6;

export class PythonEvents implements EventSink {
  readonly name: string;
  readonly place: string;
  readonly #settings: SidecarSettings;
  #process: PythonProcess | undefined;
  /** An event that failed alone, and how often. */
  #culprit = { serial: -1, times: 0 };
  /** Whether others of the same events could be written. */
  #hasWritten = false;

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

  /**
   * Python does not say which events it has written, so that the ones of a failed attempt are written again.
   *
   * @throws SaltworksError DATABASE_REFUSED for events that the returner itself fails with: the caller then writes parts of them, until the one is found
   * that it cannot take
   */
  async write(rows: readonly EventRow[]): Promise<EventsWritten> {
    const events = rows.map(({ tag, data }) => ({ tag, json: data }));
    try {
      await this.#told(async () => {
        const process = await this.#running();
        await process.ask({ kind: "event_return", name: this.name, events }, databaseStatementMs);
      });
    } catch (error) {
      const isReturners = error instanceof SaltworksError && hasCode(error.cause, "FUNCTION_FAILED");
      if (!isReturners || !this.#isRefusal(rows)) throw error;
      throw new SaltworksError("DATABASE_REFUSED", error.message, {}, { cause: error });
    }
    this.#hasWritten = true;
    return { added: rows.length, present: 0 };
  }

  /** A returner that fails with each event has lost its server, as a rule: these events are kept. One that fails with a single event does not like it. */
  #isRefusal(rows: readonly EventRow[]): boolean {
    const [only] = rows;
    if (rows.length > 1 || only === undefined) {
      this.#hasWritten = false;
      return true;
    }
    const { serial } = only;
    this.#culprit = { serial, times: this.#culprit.serial === serial ? this.#culprit.times + 1 : 1 };
    return this.#hasWritten || this.#culprit.times >= loneTriesMax;
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
