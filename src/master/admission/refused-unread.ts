/** The main thread's answer to a request that is too large for its command. */
import { encode } from "../../wire/msgpack.ts";
import { badLoad } from "../../wire/reply.ts";
import { isOperatorCommand, operatorRefusal } from "../../workers/requests/operator-refusal.ts";
import type { Route } from "./route.ts";

export function refusedUnread(route: Route): Buffer {
  const head = route.kind === "clear" ? route.head : undefined;
  if (!isOperatorCommand(head?.cmd)) return badLoad;
  return encode(operatorRefusal(head.cmd, head.login === "eauth" ? "eauth" : "key"), "raw");
}
