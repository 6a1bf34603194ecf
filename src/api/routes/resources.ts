/** `/minions`, `/jobs` and `/keys`: commands under names of their own. */
import type { FastifyInstance } from "fastify";
import { asValue, type Encodable, type Value, type ValueMap } from "../../wire/values.ts";
import { type ClientName, checkEnabled, readChunks } from "../clients/chunk.ts";
import { wheelValue } from "../clients/master-calls.ts";
import { clientFor } from "../clients/run-chunk.ts";
import { answerFormat } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import { ApiError } from "../http/errors.ts";
import { type Api, bodyOf, forSessions, proofOf } from "../sessions/context.ts";
import { deadlineOf, runAll } from "./commands.ts";

type Named = { readonly Params: { readonly id?: string } };

function chunkOf(client: ClientName, fields: Readonly<Record<string, Encodable>>) {
  return { client, fields: asValue({ client, ...fields }) as ValueMap };
}

function minionRoutes(app: FastifyInstance, api: Api): void {
  const enabled = api.config.netapi_enable_clients;
  for (const path of ["/minions", "/minions/:id"])
    app.get<Named>(path, async (request, reply) => {
      answerFormat(request.headers.accept);
      const proof = proofOf(api, request);
      checkEnabled("local", enabled);
      const chunk = chunkOf("local", { tgt: request.params.id ?? "*", fun: "grains.items" });
      const items = await runAll(api, [{ chunk, proof }], deadlineOf(api, reply));
      return await answer(request, reply, { return: items });
    });
  app.post("/minions", forSessions(api), async (request, reply) => {
    answerFormat(request.headers.accept);
    const proof = proofOf(api, request);
    const chunks = readChunks(bodyOf(request), enabled, "local_async").map((chunk) => ({ chunk, proof }));
    const started = await runAll(api, chunks, deadlineOf(api, reply));
    const jids = started.flatMap((item) =>
      typeof item === "object" && item !== null && "jid" in item ? [item.jid] : [],
    );
    const jobs = jids.map((jid) => ({ href: `${api.settings.rootPrefix}/jobs/${String(jid)}` }));
    return await answer(request, reply, { return: started, _links: { jobs } }, 202);
  });
}

/** Salt's form of one job: the whole record, then only what minions returned. */
function jobAnswer(jid: string, found: Value | undefined): Encodable {
  const info: ValueMap = new Map<Value, Value>([["jid", jid], ...(found instanceof Map ? found : [])]);
  const results = info.get("Result");
  const returns: ValueMap = new Map();
  if (results instanceof Map)
    for (const [id, result] of results) returns.set(id, result instanceof Map ? (result.get("return") ?? null) : null);
  return { info: [info], return: [returns] };
}

function jobRoutes(app: FastifyInstance, api: Api): void {
  for (const path of ["/jobs", "/jobs/:id"])
    app.get<Named>(path, async (request, reply) => {
      answerFormat(request.headers.accept);
      const proof = proofOf(api, request);
      checkEnabled("runner", api.config.netapi_enable_clients);
      const { id } = request.params;
      const call = id === undefined ? { fun: "jobs.list_jobs" } : { fun: "jobs.list_job", jid: id };
      const items = await runAll(api, [{ chunk: chunkOf("runner", call), proof }], deadlineOf(api, reply));
      const value = id === undefined ? { return: items } : jobAnswer(id, items[0] as Value);
      return await answer(request, reply, value);
    });
}

function keyRoutes(app: FastifyInstance, api: Api): void {
  for (const path of ["/keys", "/keys/:id"])
    app.get<Named>(path, async (request, reply) => {
      answerFormat(request.headers.accept);
      checkEnabled("wheel", api.config.netapi_enable_clients);
      const client = clientFor(api, { proof: proofOf(api, request) });
      const { id } = request.params;
      const value =
        id === undefined
          ? await wheelValue(client, "key.list_all", {})
          : await wheelValue(client, "key.finger", { match: id });
      return await answer(request, reply, { return: value });
    });
  app.post("/keys", async () => {
    throw new ApiError(501, "POST /keys is not available in this release");
  });
}

export function resourceRoutes(app: FastifyInstance, api: Api): void {
  if (api.settings.hasSessions) {
    minionRoutes(app, api);
    jobRoutes(app, api);
  }
  keyRoutes(app, api);
}
