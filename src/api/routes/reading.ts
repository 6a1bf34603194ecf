/**
 * `GET /runner/FUN` and `GET /wheel/FUN`: functions that only read, with arguments from the query. The master keeps no job record of these calls,
 * so that a page that watches the master does not fill its list of jobs.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { wordValue } from "../../python/word.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { checkEnabled } from "../clients/chunk.ts";
import { type Read, readValue } from "../clients/master-calls.ts";
import { clientFor } from "../clients/run-chunk.ts";
import { answerFormat } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import type { Query } from "../http/query.ts";
import { readingSchema } from "../schemas/reading.ts";
import { type Api, callerOf } from "../sessions/context.ts";
import { deadlineOf } from "./commands.ts";

export type ReadingCall = { readonly kind: "runner" | "wheel"; readonly fun: string; readonly kwargs: ValueMap };

type Asked = { readonly Params: { readonly fun: string }; readonly Querystring: Query };

/** Reads for the request's session. @throws ApiError, SaltworksError as `readValue`, `EventHub.reach` */
export async function read(
  api: Api,
  request: FastifyRequest,
  reply: FastifyReply,
  { kind, fun, kwargs }: ReadingCall,
  signal?: AbortSignal,
): Promise<Read> {
  const client = clientFor(api, await callerOf(api, request));
  checkEnabled(kind, api.config.netapi_enable_clients);
  await api.shared.hub.reach();
  return await readValue(client, kind, fun, kwargs, signal ?? deadlineOf(api, reply).signal);
}

/** Named arguments: values as on a command line; a repeated name is a list. */
function argumentsIn(query: Query): ValueMap {
  const named: ValueMap = new Map();
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === "string") named.set(name, wordValue(value));
    else if (value !== undefined)
      named.set(
        name,
        value.map((word): Value => wordValue(word)),
      );
  }
  return named;
}

export function readingRoutes(app: FastifyInstance, api: Api): void {
  if (!api.settings.hasSessions) return;
  for (const kind of ["runner", "wheel"] as const)
    app.get<Asked>(`/${kind}/:fun`, { schema: readingSchema(kind) }, async (request, reply) => {
      answerFormat(request.headers.accept);
      const { fun } = request.params;
      const { value, notes } = await read(api, request, reply, { kind, fun, kwargs: argumentsIn(request.query) });
      return await answer(request, reply, { return: [value], ...(notes.length > 0 ? { notes } : {}) });
    });
}
