/** `GET /events`: events of the master's bus as server-sent events, until the session ends. */

import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { apiStreamTagsMax, wheelReplyTimeoutMs } from "../../limits.ts";
import { compileGlob } from "../../python/fnmatch.ts";
import { textField } from "../../wire/fields.ts";
import { isTokenText } from "../clients/chunk.ts";
import { boundAnswer } from "../http/answer.ts";
import { ApiError, busy, noSessionText } from "../http/errors.ts";
import { streamEventsSchema } from "../schemas/events.ts";
import { proveConnection, releaseSlot, takeStreamSlot } from "../sessions/admit.ts";
import { sessionIdOf } from "../sessions/carriers.ts";
import { type Api, userOf } from "../sessions/context.ts";
import { secondsIn } from "../sessions/open-session.ts";
import type { EventStreams } from "../streams/event-streams.ts";

export type Query = { readonly [name: string]: string | readonly string[] | undefined };

function textsOf(query: Query, name: string): readonly string[] {
  const value = query[name];
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}

/** `user`: who reads, as `userOf`. */
export type ReadPermission = { readonly user: string; readonly isAllowed: () => boolean };

/** Who reads, and whether the reader still may, by session or by a token of the master. @throws ApiError 401 */
export async function permissionOf(api: Api, request: FastifyRequest, query: Query): Promise<ReadPermission> {
  const [saltToken] = textsOf(query, "salt_token");
  if (saltToken !== undefined) {
    if (!isTokenText(saltToken)) throw new ApiError("SESSION_MISSING", noSessionText);
    await api.shared.hub.reach();
    const fields = await api.shared.channels.ask({ cmd: "get_token", token: saltToken }, wheelReplyTimeoutMs);
    const expire = secondsIn(fields, "expire");
    if (!(expire * 1_000 > Date.now())) throw new ApiError("SESSION_MISSING", noSessionText);
    const [user = "", eauth = ""] = ["name", "eauth"].map((name) => textField(fields, name));
    return { user: userOf({ user, eauth }), isAllowed: () => expire * 1_000 > Date.now() };
  }
  const id = textsOf(query, "token")[0] ?? sessionIdOf(request);
  const session = id === undefined ? undefined : api.sessions.find(id);
  if (id === undefined || session === undefined) throw new ApiError("SESSION_MISSING", noSessionText);
  return { user: userOf(session), isAllowed: () => api.sessions.find(id) !== undefined };
}

/** @throws ApiError 400 */
export function filterOf(query: Query): ((tag: string) => boolean) | undefined {
  const patterns = textsOf(query, "tag");
  if (patterns.length === 0) return undefined;
  if (patterns.length > apiStreamTagsMax)
    throw new ApiError("ARGUMENT_INVALID", `A stream has at most ${apiStreamTagsMax} tags`);
  const globs = patterns.map((pattern) => compileGlob(pattern));
  return (tag) => globs.some((glob) => glob.matches(tag));
}

export function eventRoutes(app: FastifyInstance, api: Api, streams: EventStreams): void {
  app.get<{ readonly Querystring: Query }>("/events", { schema: streamEventsSchema }, async (request, reply) => {
    const { user, isAllowed } = await permissionOf(api, request, request.query);
    const isWanted = filterOf(request.query);
    if (streams.isFull) {
      streams.counters.refused += 1;
      throw busy("Too many streams are open");
    }
    takeStreamSlot(api, reply, user);
    const header = request.headers["last-event-id"];
    const lastId = typeof header === "string" && header !== "" ? header : undefined;
    await streams.ready();
    reply.hijack();
    proveConnection(api, request);
    releaseSlot(request);
    const response = reply.raw;
    const headers = { "content-type": "text/event-stream;charset=utf-8", connection: "keep-alive" };
    response.writeHead(200, {
      ...(reply.getHeaders() as OutgoingHttpHeaders),
      ...headers,
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
    });
    response.write("retry: 400\n");
    const end = () => {
      // Its client may have stopped reading, and would keep the connection for ever.
      if (response.socket !== null) boundAnswer(response.socket);
      response.end();
    };
    const sendPing = () => void response.write(": ping\n\n");
    const form = "events" as const;
    streams.open({ form, output: response, end, ping: sendPing, isWanted, isAllowed, lastId, isWaiting: false });
  });
}
