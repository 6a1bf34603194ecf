/** Opens a session: the master checks the credential and makes a token, for which the session stands. */
import type { FastifyRequest } from "fastify";
import { makeToken } from "../../client/credentials.ts";
import { shownPermissions, sortedPermissions } from "../../config/api-settings.ts";
import { networkMatcher, plainAddress } from "../../config/options/networks.ts";
import type { ConfigValue } from "../../config/yaml/values.ts";
import { listField, textField } from "../../wire/fields.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";
import { ApiError, noSessionText } from "../http/errors.ts";
import type { Api } from "./context.ts";
import type { Session } from "./sessions.ts";

export const badLoginText = "Could not authenticate using provided credentials";

/** `atProvider`: as in `Session`. */
export type Credential = {
  readonly username: string;
  readonly password: string;
  readonly eauth: string;
  readonly expireSeconds?: number;
  readonly atProvider?: Session["atProvider"];
};

/** @throws ApiError 401, SaltworksError as `makeToken`, `readSender` and `Sessions.open` */
export async function openSession(
  api: Api,
  request: FastifyRequest,
  credential: Credential,
): Promise<{ readonly id: string; readonly session: Session }> {
  checkAddress(api, credential.username, request.ip);
  await api.shared.hub.reach();
  const { expireSeconds, atProvider, ...login } = credential;
  const made = await makeToken(api.shared.channels, login, expireSeconds, await api.senders.of(request.ip));
  if (made === undefined) throw new ApiError("LOGIN_FAILED", badLoginText);
  const session = { ...toSession(api, made), ...(atProvider === undefined ? {} : { atProvider }) };
  return { id: api.sessions.open(session), session };
}

/** @throws ApiError 401 */
function checkAddress(api: Api, user: string, ip: string): void {
  const { loginAddresses: rules } = api.settings;
  if (rules === undefined) return;
  const allowed = [...(rules.get(user) ?? []), ...(rules.get("*") ?? [])];
  const address = plainAddress(ip);
  if (!allowed.includes("*") && !networkMatcher(allowed)(address)) throw new ApiError("LOGIN_FAILED", noSessionText);
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
