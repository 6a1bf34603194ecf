/** `POST /hook/..`: fires an event with the request's body and headers, for reactors. */

import { join } from "node:path";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { fireEvents } from "../../transport/event-stream-client.ts";
import { encodeEvent } from "../../wire/event.ts";
import { answer } from "../http/answer.ts";
import { ApiError } from "../http/errors.ts";
import { hookSchema } from "../schemas/events.ts";
import { type Api, bodyOf, forSessions } from "../sessions/context.ts";

/** Every reader of events would see them. */
const secretHeaders: ReadonlySet<string> = new Set(["x-auth-token", "cookie", "authorization", "proxy-authorization"]);

function headersOf(request: FastifyRequest): Record<string, string> {
  const kept = Object.entries(request.headers).filter(([name]) => !secretHeaders.has(name));
  const named = kept.map(([name, value]) => [
    name.replaceAll(/(?:^|-)[a-z]/g, (part) => part.toUpperCase()),
    String(value),
  ]);
  return Object.fromEntries(named) as Record<string, string>;
}

export function hookRoutes(app: FastifyInstance, api: Api): void {
  const { webhookPath, isWebhookOpen } = api.settings;
  const options = isWebhookOpen ? {} : forSessions(api);
  for (const path of [webhookPath, `${webhookPath}/*`]) {
    const schema = hookSchema(isWebhookOpen, path !== webhookPath);
    app.post<{ readonly Params: { readonly "*"?: string } }>(path, { ...options, schema }, async (request, reply) => {
      const rest = (request.params["*"] ?? "").split("/").filter((part) => part !== "");
      // Two line ends would end the tag on the bus.
      if (rest.some((part) => /\p{Cc}/u.test(part)))
        throw new ApiError("ARGUMENT_INVALID", "The path of a hook has no control characters");
      const tag = ["salt/netapi/hook", ...rest].join("/");
      const post = bodyOf(request) ?? {};
      const body = Buffer.isBuffer(request.body) ? request.body.toString() : "";
      const stamp = new Date().toISOString().slice(0, -1);
      const event = encodeEvent(tag, { body, post, headers: headersOf(request), _stamp: stamp });
      await fireEvents(join(api.config.sock_dir, "master_event_pull.ipc"), [event]);
      return await answer(request, reply, { success: true });
    });
  }
}
