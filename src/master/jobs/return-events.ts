/** Finds the returns among a batch's events, for the job tracker. */
import { tagIn } from "../../wire/event.ts";
import type { BatchResult } from "../../workers/messages/batch.ts";

/** A return's event has the tag `salt/job/<jid>/ret/<minion id>`. A minion id holds no slash. */
const tagPrefix = "salt/job/";
const tagInfix = "/ret/";

export type ReturnEvents = Pick<BatchResult, "buffer" | "eventsStart" | "returnEvents">;

/** `data` makes its view only when it is called, because most returns are only counted. */
type NoteReturn = (jid: string, id: string, isFailed: boolean, data: () => Uint8Array) => void;

/** Calls `note` for each return. Every return passes here, and a callback with few objects takes half the time of a generator of views. */
export function forEachReturn({ buffer, eventsStart, returnEvents }: ReturnEvents, note: NoteReturn): void {
  if (returnEvents.length === 0) return;
  const bytes = Buffer.from(buffer);
  for (let index = 0; index < returnEvents.length; index += 3) {
    const { tag, dataStart } = tagIn(bytes, eventsStart + (returnEvents[index] ?? 0));
    const idStart = tag.lastIndexOf(tagInfix);
    const end = eventsStart + (returnEvents[index + 1] ?? 0);
    note(
      tag.slice(tagPrefix.length, idStart),
      tag.slice(idStart + tagInfix.length),
      returnEvents[index + 2] === 1,
      () => bytes.subarray(dataStart, end),
    );
  }
}
