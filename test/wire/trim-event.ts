/** Trims a whole event's body as the master does: its data, behind the same tag. */
import { encodeEventBytes, splitEvent } from "../../src/wire/event.ts";
import { trimData } from "../../src/wire/return.ts";

export function trimEvent(body: Buffer, maxBytes: number): Buffer {
  const { tag, data } = splitEvent(body);
  const trimmed = trimData(data, maxBytes);
  return trimmed === data ? body : encodeEventBytes(tag, trimmed);
}
