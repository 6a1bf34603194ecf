/** `/login` and `/logout`: a session is opened with a token of the master, and closing it removes both. */
import type { FastifyInstance } from "fastify";
import { makeToken, readSender } from "../../client/credentials.ts";
import { MasterClient } from "../../client/master-client.ts";
import { knock } from "../../client/request-port.ts";
import { shownPermissions, sortedPermissions } from "../../config/api-settings.ts";
import { networkMatcher, plainAddress } from "../../config/options/networks.ts";
import type { ConfigValue } from "../../config/yaml/values.ts";
import { apiCredentialBodyBytesMax } from "../../limits.ts";
import { listField, textField } from "../../wire/fields.ts";
import { Float, floatItem, type Value, type ValueMap } from "../../wire/values.ts";
import { answerFormat } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import { ApiError } from "../http/errors.ts";
import { clearedCookie, sessionCookie } from "../sessions/carriers.ts";
import { type Api, bodyOf, sessionOf } from "../sessions/context.ts";
import type { Session } from "../sessions/sessions.ts";

export const badLoginText = "Could not authenticate using provided credentials";
/** The SUSE client compares this text. */
const clearedText = "Your token has been cleared";

export function loginRoutes(app: FastifyInstance, api: Api): void {
  app.get("/login", async (request, reply) => {
    reply.header("www-authenticate", "Session");
    return await answer(request, reply, { status: null, return: "Please log in" });
  });
  app.post("/login", { bodyLimit: apiCredentialBodyBytesMax }, async (request, reply) => {
    answerFormat(request.headers.accept);
    const credential = credentialIn(bodyOf(request));
    checkAddress(api, credential.username, request.ip);
    await knock(api.config);
    const { expireSeconds, ...login } = credential;
    const made = await makeToken(api.shared.channels, login, expireSeconds, await readSender(api.config, request.ip));
    if (made === undefined) throw new ApiError(401, badLoginText);
    const session = toSession(api, made);
    const id = api.sessions.open(session);
    reply.header("x-auth-token", id);
    reply.header("set-cookie", sessionCookie(id, session, api.settings.tls !== undefined, Date.now()));
    const { user, eauth, start, expire, perms } = session;
    const shown = { token: id, expire: floatItem(expire), start: floatItem(start), user, eauth, perms: perms as Value };
    return await answer(request, reply, { return: [shown] });
  });
  app.post("/logout", { bodyLimit: apiCredentialBodyBytesMax }, async (request, reply) => {
    answerFormat(request.headers.accept);
    const { id, session } = sessionOf(api, request);
    await api.sessions.close(id);
    forgetToken(api, session);
    reply.header("set-cookie", clearedCookie);
    return await answer(request, reply, { return: clearedText });
  });
}

type Credential = {
  readonly username: string;
  readonly password: string;
  readonly eauth: string;
  readonly expireSeconds?: number;
};

/** Reads one map, or a list with one. @throws ApiError 400, 401 if a member is missing */
export function credentialIn(body: Value | undefined): Credential {
  const chunk = Array.isArray(body) ? body[0] : body;
  if (!(chunk instanceof Map)) throw new ApiError(400, "A login is an object with username, password and eauth");
  const [username, password, eauth] = ["username", "password", "eauth"].map((name) => textField(chunk, name));
  // An empty password must not reach a directory, which would take it for an anonymous login.
  if (!username || !password || !eauth) throw new ApiError(401, badLoginText);
  const asked = chunk.get("token_expire");
  return { username, password, eauth, ...(typeof asked === "number" ? { expireSeconds: asked } : {}) };
}

/** @throws ApiError 401 */
function checkAddress(api: Api, user: string, ip: string): void {
  const { loginAddresses: rules } = api.settings;
  if (rules === undefined) return;
  const allowed = [...(rules.get(user) ?? []), ...(rules.get("*") ?? [])];
  const address = plainAddress(ip);
  if (!allowed.includes("*") && !networkMatcher(allowed)(address))
    throw new ApiError(401, "No permission -- see authorization schemes");
}

/** A time of a token's fields. */
export function secondsIn(fields: ValueMap, name: string): number {
  const value = fields.get(name);
  return value instanceof Float ? value.value : Number(value);
}

function toSession(api: Api, made: ValueMap): Session {
  const [token = "", user = "", eauth = ""] = ["token", "name", "eauth"].map((name) => textField(made, name));
  const groups = (listField(made, "groups") ?? []).map(String);
  const kept = listField(made, "auth_list");
  const perms =
    kept === undefined
      ? shownPermissions(api.config.external_auth, eauth, user, groups)
      : sortedPermissions(kept.map(plain));
  return { token, user, eauth, start: secondsIn(made, "start"), expire: secondsIn(made, "expire"), perms };
}

function plain(value: Value): ConfigValue {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [String(key), plain(member)]));
  return value === null || typeof value !== "object" ? value : null;
}

/** The master forgets the token in the background: the session is closed already. */
function forgetToken(api: Api, { token }: Session): void {
  const remove = async () => {
    const client = await MasterClient.open(api.config, api.config.user);
    try {
      await client.runner("auth.del_token", [token], new Map());
    } finally {
      client.close();
    }
  };
  remove().catch((error: unknown) => api.log.warn({ err: error }, "a token could not be removed at a logout"));
}
