/** `/keys`: lists and fingerprints of keys, and new key pairs for minions that are yet to be installed. */

import type { FastifyInstance } from "fastify";
import { pack } from "tar-stream";
import { apiCredentialBodyBytesMax } from "../../limits.ts";
import { textField } from "../../wire/fields.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { checkEnabled, loginIn, mapsIn } from "../clients/chunk.ts";
import { clientFor } from "../clients/run-chunk.ts";
import { answerFormat } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import { ApiError } from "../http/errors.ts";
import { createKeyPairSchema, getKeySchema, listKeysSchema } from "../schemas/minions.ts";
import { type Api, bodyOf } from "../sessions/context.ts";
import { read } from "./reading.ts";

type Named = { readonly Params: { readonly id?: string } };
type PairRequest = { readonly id: string; readonly arguments: Readonly<Record<string, Value>> };

const yes = /^(?:true|yes|on|1)$/i;

/** @throws ApiError 400 */
function pairIn(fields: ValueMap): PairRequest {
  const id = textField(fields, "mid") ?? textField(fields, "id_") ?? "";
  // The name becomes a part of a header.
  if (!/^[\w.@+-]+$/.test(id)) throw new ApiError("ARGUMENT_INVALID", "Name the minion in 'mid'");
  const force = yes.test(String(fields.get("force") ?? ""));
  const size = fields.get("keysize");
  const keysize = Number(size);
  if (size !== undefined && !Number.isInteger(keysize))
    throw new ApiError("ARGUMENT_INVALID", "'keysize' is a number of bits");
  return { id, arguments: { id_: id, force, ...(size === undefined ? {} : { keysize }) } };
}

/** The files as a minion keeps them. */
async function archive(files: readonly { readonly name: string; readonly mode: number; readonly text: string }[]) {
  const tar = pack();
  for (const { text, ...header } of files) tar.entry({ ...header, mtime: new Date() }, text);
  tar.finalize();
  const parts: Buffer[] = [];
  for await (const part of tar) parts.push(Buffer.from(part as Uint8Array));
  return Buffer.concat(parts);
}

export function keyRoutes(app: FastifyInstance, api: Api): void {
  const enabled = api.config.netapi_enable_clients;
  for (const [path, schema] of [
    ["/keys", listKeysSchema],
    ["/keys/:id", getKeySchema],
  ] as const)
    app.get<Named>(path, { schema }, async (request, reply) => {
      answerFormat(request.headers.accept);
      checkEnabled("wheel", enabled);
      const { id } = request.params;
      const [fun, kwargs]: [string, ValueMap] =
        id === undefined ? ["key.list_all", new Map()] : ["key.finger", new Map([["match", id]])];
      const { value } = await read(api, request, reply, { kind: "wheel", fun, kwargs });
      return await answer(request, reply, { return: value });
    });
  app.post("/keys", { bodyLimit: apiCredentialBodyBytesMax, schema: createKeyPairSchema }, async (request, reply) => {
    const [fields] = mapsIn(bodyOf(request));
    if (fields === undefined) throw new ApiError("ARGUMENT_INVALID", "Name the minion in 'mid'");
    checkEnabled("wheel", enabled);
    const proof = loginIn(fields);
    const pair = pairIn(fields);
    await api.shared.hub.reach();
    const client = clientFor(api, { proof, sender: await api.senders.of(request.ip) });
    const { value: made, isSuccess } = await client.wheel("key.gen_accept", { kwarg: pair.arguments });
    if (!isSuccess) throw new ApiError("FUNCTION_FAILED", String(made));
    const [pub, priv] = ["pub", "priv"].map((name) => (made instanceof Map ? textField(made, name) : undefined));
    if (!pub || !priv)
      throw new ApiError("KEY_EXISTS", `The minion '${pair.id}' has an accepted key already; 'force' replaces it`);
    const tar = await archive([
      { name: "minion.pub", mode: 0o644, text: pub },
      { name: "minion.pem", mode: 0o400, text: priv },
    ]);
    return await reply
      .header("content-type", "application/x-tar")
      .header("content-disposition", `attachment; filename="saltkeys-${pair.id}.tar"`)
      .send(tar);
  });
}
