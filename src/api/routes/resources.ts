/** `/minions`: commands under names of their own. */

import type { FastifyInstance } from "fastify";
import { asValue, type Encodable, type ValueMap } from "../../wire/values.ts";
import { type ClientName, checkEnabled, readChunks } from "../clients/chunk.ts";
import { answerFormat } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import { getMinionSchema, listMinionsSchema, startJobsSchema } from "../schemas/minions.ts";
import { type Api, bodyOf, callerOf, forSessions } from "../sessions/context.ts";
import { deadlineOf, runAll } from "./commands.ts";

type Named = { readonly Params: { readonly id?: string } };

function chunkOf(client: ClientName, fields: Readonly<Record<string, Encodable>>) {
  return { client, fields: asValue({ client, ...fields }) as ValueMap };
}

function minionRoutes(app: FastifyInstance, api: Api): void {
  const enabled = api.config.netapi_enable_clients;
  for (const [path, schema] of [
    ["/minions", listMinionsSchema],
    ["/minions/:id", getMinionSchema],
  ] as const)
    app.get<Named>(path, { schema }, async (request, reply) => {
      answerFormat(request.headers.accept);
      const caller = await callerOf(api, request);
      checkEnabled("local", enabled);
      const chunk = chunkOf("local", { tgt: request.params.id ?? "*", fun: "grains.items" });
      const items = await runAll(api, [{ chunk, ...caller }], deadlineOf(api, reply));
      return await answer(request, reply, { return: items });
    });
  app.post("/minions", { ...forSessions(api), schema: startJobsSchema }, async (request, reply) => {
    answerFormat(request.headers.accept);
    const caller = await callerOf(api, request);
    const chunks = readChunks(bodyOf(request), enabled, "local_async").map((chunk) => ({ chunk, ...caller }));
    const started = await runAll(api, chunks, deadlineOf(api, reply));
    const jids = started.flatMap((item) =>
      typeof item === "object" && item !== null && "jid" in item ? [item.jid] : [],
    );
    const jobs = jids.map((jid) => ({ href: `${api.settings.rootPrefix}/jobs/${String(jid)}` }));
    return await answer(request, reply, { return: started, _links: { jobs } }, 202);
  });
}

export function resourceRoutes(app: FastifyInstance, api: Api): void {
  if (api.settings.hasSessions) minionRoutes(app, api);
}
