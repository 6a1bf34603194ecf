/** The main thread's answer to a request that is too large for its command. */
import { encode } from "../../wire/msgpack.ts";
import { badLoad } from "../../wire/reply.ts";
import { isOperatorCommand, operatorRefusal } from "../../workers/requests/operator-refusal.ts";
import type { Route } from "./route.ts";

/** `isForged`: the request claimed to be an operator's. */
export function refusedUnread(route: Route): { readonly reply: Buffer; readonly isForged: boolean } {
  const head = route.kind === "clear" ? route.head : undefined;
  if (!isOperatorCommand(head?.cmd)) return { reply: badLoad, isForged: false };
  return { reply: encode(operatorRefusal(head.cmd, head.login === "eauth" ? "eauth" : "key"), "raw"), isForged: true };
}
