/** One command of a request ("chunk"): its client and function, checked before any chunk of the request runs. */
import { apiChunksMax, apiTokenCharactersMax } from "../../limits.ts";
import { textField } from "../../wire/fields.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { ApiError } from "../http/errors.ts";
import { checkJobOptions } from "./batch-options.ts";

export const builtClients = [
  "local",
  "local_async",
  "local_batch",
  "local_subset",
  "runner",
  "runner_async",
  "wheel",
  "wheel_async",
] as const;
export type ClientName = (typeof builtClients)[number];

export type Chunk = { readonly client: ClientName; readonly fields: ValueMap };

function isBuilt(name: string): name is ClientName {
  return builtClients.some((known) => known === name);
}

/** @throws ApiError 400, 501 for a client that this release does not have */
function clientOf(fields: ValueMap, enabled: readonly unknown[]): ClientName {
  const written = fields.get("client");
  const name = typeof written === "string" ? written : "None";
  if (!isBuilt(name) && name !== "ssh")
    throw new ApiError("ARGUMENT_INVALID", `Invalid client specified: '${name.slice(0, 100)}'`);
  checkEnabled(name, enabled);
  if (isBuilt(name)) return name;
  throw new ApiError("CLIENT_UNBUILT", "The client 'ssh' does not exist here: salt-ssh is not part of Saltworks");
}

/** @throws ApiError 400 */
export function checkEnabled(client: string, enabled: readonly unknown[]): void {
  if (enabled.includes(client)) return;
  throw new ApiError(
    "CLIENT_DISABLED",
    `Client disabled: '${client}'. Add to 'netapi_enable_clients' master config option to enable.`,
  );
}

function isFunction(fun: Value | undefined): boolean {
  if (Array.isArray(fun)) return fun.length > 0 && fun.every((name) => typeof name === "string" && name !== "");
  return typeof fun === "string" && fun !== "";
}

/** @throws ApiError 400 */
function checkShape({ client, fields }: Chunk): void {
  const fun = fields.get("fun");
  if (!isFunction(fun)) throw new ApiError("ARGUMENT_INVALID", "A command needs a function in 'fun'");
  if (client.startsWith("local")) {
    if (!fields.has("tgt")) throw new ApiError("ARGUMENT_INVALID", "A command for minions needs a target in 'tgt'");
    checkJobOptions(client, fields);
    return;
  }
  if (typeof fun !== "string" || !fun.includes("."))
    throw new ApiError("ARGUMENT_INVALID", "A command invocation error occurred: Check syntax.");
}

/** The maps of a body: one, or a list. @throws ApiError 400 */
export function mapsIn(body: Value | undefined): ValueMap[] {
  if (body instanceof Map) return [body];
  if (!Array.isArray(body) || !body.every((item) => item instanceof Map))
    throw new ApiError("ARGUMENT_INVALID", "Lowstates must be a list");
  if (body.length > apiChunksMax)
    throw new ApiError("ARGUMENT_INVALID", `A request has at most ${apiChunksMax} commands`);
  return body;
}

/** A form has only texts; the clients look for True. */
function readFlags(fields: ValueMap): ValueMap {
  for (const name of ["full_return", "raw"]) if (/^true$/i.test(textField(fields, name) ?? "")) fields.set(name, true);
  return fields;
}

/** @param client of all chunks, whatever they say. @throws ApiError 400, 501 */
export function readChunks(body: Value | undefined, enabled: readonly unknown[], client?: ClientName): Chunk[] {
  return mapsIn(body).map((fields) => {
    if (client !== undefined) checkEnabled(client, enabled);
    const chunk = { client: client ?? clientOf(fields, enabled), fields: readFlags(fields) };
    checkShape(chunk);
    return chunk;
  });
}

/** Whether a text may be a token of the master: no other text reaches it. */
export function isTokenText(text: string): boolean {
  return text.length <= apiTokenCharactersMax && /^[0-9a-f]+$/i.test(text);
}

/** Credentials in a chunk of `/run`. @throws ApiError 401 */
export function loginIn(
  fields: ValueMap,
): { readonly token: string } | { readonly eauth: string; readonly username: string; readonly password: string } {
  const token = textField(fields, "token");
  if (token !== undefined && token !== "") {
    if (!isTokenText(token)) throw new ApiError("TOKEN_INVALID", "Invalid token");
    return { token };
  }
  const [eauth, username, password] = ["eauth", "username", "password"].map((name) => textField(fields, name));
  if (!eauth || !username || !password)
    throw new ApiError("CREDENTIALS_MISSING", "No authentication credentials given");
  return { eauth, username, password };
}
