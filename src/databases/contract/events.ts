/** A place that gets the master's events (`event_return`): all that the rest of the master knows of a database, a file or a message server. */
import type { DatabaseConfig } from "./database.ts";

/** `data`: the event's data as JSON. `serial`: counts the events of this thread, so that no two have the same. */
export type EventRow = { readonly tag: string; readonly data: string; readonly serial: number };

/** How many events were added, and how many the returner had already. */
export type EventsWritten = { readonly added: number; readonly present: number };

/** Each method fails with SaltworksError DATABASE_FAILED or DATABASE_REFUSED, whose messages have no password. */
export interface EventSink {
  readonly name: string;
  /** Where events go, for messages: an address without a password. */
  readonly place: string;
  /** Connects, and looks whether events can be written. It is called before the first write, and before the next write after a failure. */
  check(): Promise<void>;
  /**
   * Writes all rows in their order, or none of them. `mayBePresent`: the latest attempt failed with an unknown end and may have written some of the
   * first rows, so these are looked for.
   *
   * @throws SaltworksError DATABASE_REFUSED if it refuses a row for what the row holds
   */
  write(rows: readonly EventRow[], o: { readonly mayBePresent: boolean }): Promise<EventsWritten>;
  close(): Promise<void>;
}

/** How a place for events is opened. `packageName`: of the npm package that it needs, if any. */
export interface EventDriver {
  readonly packageName?: string;
  /** Opens nothing yet: the first call connects. */
  open(config: DatabaseConfig): EventSink;
}

/** Width of the column `tag` in Salt's tables, characters. */
const tagLength = 255;

/** The tag as the column holds it. A longer one is cut, by characters, so that no pair of surrogates is torn. */
export function columnTag(tag: string): string {
  return tag.length <= tagLength ? tag : [...tag].slice(0, tagLength).join("");
}
