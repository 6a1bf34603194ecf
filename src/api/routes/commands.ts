/** `POST /`, `POST /run` and `POST /token`: commands with a session, commands with credentials of their own, and tokens. */

import type { FastifyInstance, FastifyReply } from "fastify";
import { makeToken } from "../../client/credentials.ts";
import { apiCredentialBodyBytesMax, apiLoginBodyBytesMax } from "../../limits.ts";
import { type Encodable, floatItem } from "../../wire/values.ts";
import { loginIn, mapsIn, readChunks } from "../clients/chunk.ts";
import { Deadline } from "../clients/deadline.ts";
import { type CallersChunk, runChunk } from "../clients/run-chunk.ts";
import { answerFormat } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import { ApiError } from "../http/errors.ts";
import { onceOver } from "../http/over.ts";
import { runCommandsSchema, runSchema } from "../schemas/commands.ts";
import { tokenSchema } from "../schemas/sessions.ts";
import { type Api, bodyOf, callerOf, forSessions } from "../sessions/context.ts";
import { badLoginText, secondsIn } from "../sessions/open-session.ts";
import { answerLines, wantsLines } from "./lines.ts";
import { credentialIn } from "./login.ts";

/** Ends with the request's deadline, or when its client is gone before the answer is out. */
export function deadlineOf(api: Api, reply: FastifyReply): Deadline {
  const deadline = new Deadline();
  const timer = setTimeout(() => deadline.pass(), api.config.rest_timeout * 1_000);
  onceOver(reply.request.raw.socket, reply.raw, () => {
    clearTimeout(timer);
    // Nothing waits any more after a whole answer, and an abort makes an error with a stack.
    if (!reply.raw.writableFinished) deadline.pass();
  });
  return deadline;
}

/** Runs chunks one after the other. @throws ApiError, SaltworksError of the first that fails */
export async function runAll(api: Api, chunks: readonly CallersChunk[], deadline: Deadline): Promise<Encodable[]> {
  if (chunks.length > 0) await api.shared.hub.reach();
  const items: Encodable[] = [];
  for (const { chunk, ...caller } of chunks) items.push(...(await runChunk(api, chunk, caller, deadline)));
  return items;
}

export function commandRoutes(app: FastifyInstance, api: Api): void {
  const enabled = api.config.netapi_enable_clients;
  if (api.settings.hasSessions)
    app.post("/", { ...forSessions(api), schema: runCommandsSchema }, async (request, reply) => {
      const isByLine = wantsLines(request);
      if (!isByLine) answerFormat(request.headers.accept);
      const caller = await callerOf(api, request);
      const chunks = readChunks(bodyOf(request), enabled).map((chunk) => ({ chunk, ...caller }));
      reply.header("cache-control", "private");
      if (isByLine) {
        await api.shared.hub.reach();
        return await answerLines(api, reply, chunks, deadlineOf(api, reply));
      }
      const items = await runAll(api, chunks, deadlineOf(api, reply));
      return await answer(request, reply, { return: items });
    });
  app.post("/run", { bodyLimit: apiCredentialBodyBytesMax, schema: runSchema }, async (request, reply) => {
    answerFormat(request.headers.accept);
    const read = readChunks(bodyOf(request), enabled).map((chunk) => ({ chunk, proof: loginIn(chunk.fields) }));
    if (read.length > 0) await api.shared.hub.reach();
    // These may hold passwords, which the master counts by the HTTP client's address.
    const sender = await api.senders.of(request.ip);
    const chunks = read.map((own) => ({ ...own, sender }));
    return await answer(request, reply, { return: await runAll(api, chunks, deadlineOf(api, reply)) });
  });
  app.post("/token", { bodyLimit: apiLoginBodyBytesMax, schema: tokenSchema }, async (request, reply) => {
    answerFormat(request.headers.accept);
    const maps = mapsIn(bodyOf(request));
    const isWhole = maps.every((map) => ["username", "password", "eauth"].every((name) => map.has(name)));
    if (!isWhole) throw new ApiError("ARGUMENT_INVALID", 'Require "username", "password", and "eauth" params');
    await api.shared.hub.reach();
    const sender = await api.senders.of(request.ip);
    const made: Encodable[] = [];
    for (const map of maps) {
      const { expireSeconds, ...login } = credentialIn(map);
      const fields = await makeToken(api.shared.channels, login, expireSeconds, sender);
      if (fields === undefined) throw new ApiError("LOGIN_FAILED", badLoginText);
      const seconds = (name: string) => floatItem(secondsIn(fields, name));
      const [name, eauth, token] = ["name", "eauth", "token"].map((member) => fields.get(member));
      made.push({ start: seconds("start"), expire: seconds("expire"), name, eauth, token });
    }
    return await answer(request, reply, made);
  });
}
