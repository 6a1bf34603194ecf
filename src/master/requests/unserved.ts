/**
 * Answers a request that no worker could serve. Minions get Salt's generic failure, on which they authenticate again and retry. Operators get the
 * kind of failure, in forms that Salt's command lines print, but no paths or data of the master, because the client has not proved itself.
 */
import { type ErrorCode, errorCodes, hasCode } from "../../errors.ts";
import { encode } from "../../wire/msgpack.ts";
import { failedReply } from "../../wire/reply.ts";
import { routeOf } from "../admission/route.ts";

/** Whether to try another worker: true if `error` shows that this worker did not begin the request. */
export function isWorthAnotherWorker(error: Error): boolean {
  // WORKER_LOST and TASK_TIMEOUT: the thread ended, maybe because of the request. CHANNEL_CLOSED: all threads end.
  return !(["WORKER_LOST", "TASK_TIMEOUT", "CHANNEL_CLOSED"] as const).some((code) => hasCode(error, code));
}

export function unservedReply(frame: Uint8Array, error: Error): Uint8Array {
  const command = clearCommandOf(frame);
  if (command === "publish") return encode({ error: reasonOf(error) }, "raw");
  if (command !== "runner" && command !== "wheel") return failedReply;
  return encode({ error: { name: "SaltClientError", message: reasonOf(error) } }, "raw");
}

function reasonOf(error: Error): string {
  const code = (Object.keys(errorCodes) as ErrorCode[]).find((known) => hasCode(error, known));
  const why = code === undefined ? "A worker failed." : `${errorCodes[code].about} (${code})`;
  return `The master cannot serve this request now: ${why} Its log says more.`;
}

function clearCommandOf(frame: Uint8Array): string | undefined {
  const route = routeOf(frame);
  return route.kind === "clear" ? route.head?.cmd : undefined;
}
