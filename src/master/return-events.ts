/** The returns among a batch's events, as the job tracker is told of them. */
import { splitFrame } from "../wire/event.ts";
import type { BatchResult } from "../workers/messages.ts";

/** The tag of a return's event: prefix, job id, infix, minion id, which holds no slash. */
const tagPrefix = "salt/job/";
const tagInfix = "/ret/";

type ReturnEvent = { readonly jid: string; readonly id: string; readonly data: Uint8Array; readonly isFailed: boolean };

export function* returnsIn({ buffer, eventsStart, returnEvents }: BatchResult): Generator<ReturnEvent> {
  for (let index = 0; index < returnEvents.length; index += 3) {
    const start = returnEvents[index] ?? 0;
    const end = returnEvents[index + 1] ?? start;
    const { tag, data } = splitFrame(Buffer.from(buffer, eventsStart + start, end - start));
    const idStart = tag.lastIndexOf(tagInfix);
    yield {
      jid: tag.slice(tagPrefix.length, idStart),
      id: tag.slice(idStart + tagInfix.length),
      data,
      isFailed: returnEvents[index + 2] === 1,
    };
  }
}
