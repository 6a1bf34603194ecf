/**
 * What is answered to a request that no worker could serve. Minions get Salt's words, on which they authenticate again and retry; an operator hears why,
 * in the forms that Salt's command lines print. Nobody has proved himself yet: the kind of failure is told, and nothing of the master's paths or data.
 */
import { type ErrorCode, errorCodes, hasCode } from "../../errors.ts";
import { encode } from "../../wire/msgpack.ts";
import { failedReply } from "../../wire/reply.ts";
import { routeOf } from "../waiting/route.ts";

/** By `error`, which a worker or the pool gave: another worker may do better with the same request, as this one never had it in hand. */
export function isWorthAnotherWorker(error: Error): boolean {
  // Under these the thread ended, and it may be the request's doing; the last is the end of all of them.
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
