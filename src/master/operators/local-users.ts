/** The local users that get a key file: the master's own user, and users that `publisher_acl` names. Source: Salt's access_keys. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import type { Logger } from "pino";
import { apiKeyUser } from "../../config/api-key.ts";
import type { MasterConfig } from "../../config/load.ts";
import { localKeysMax, probeOutputBytesMax, probeTimeoutMs } from "../../limits.ts";
import { expressionMatches } from "../../python/expression.ts";
import { ensureLocalKey } from "../../store/keys/local-key.ts";

type UsersConfig = Pick<MasterConfig, "cachedir" | "user" | "publisher_acl" | "external_auth" | "client_acl_verify">;

/** A user's name that is safe as a part of a file name. */
const userName = /^[\w.@+-]+\$?$/;
const othersMayPass = 0o001;

/** Reads the keys of the API process and of each user, and makes missing ones. @throws SaltworksError STORE_FAILED */
export function localKeysOf(config: UsersConfig, logger: Pick<Logger, "warn">): ReadonlyMap<string, string> {
  const { cachedir, user, publisher_acl: acl, external_auth: externalAuth } = config;
  const keys = new Map([user, apiKeyUser].map((name) => [name, ensureLocalKey(cachedir, name)]));
  const expressions = Object.keys(acl);
  if (expressions.length + Object.keys(externalAuth).length > 0) openWay(cachedir);
  if (expressions.length === 0) return keys;
  for (const [name, uid] of usersOf(expressions, config, logger)) {
    if (keys.has(name)) continue;
    if (keys.size > localKeysMax) {
      logger.warn({ localKeysMax }, "publisher_acl names more users than may have keys: the rest have none");
      break;
    }
    keys.set(name, ensureLocalKey(cachedir, name, uid));
  }
  return keys;
}

/** Lets users open their key file, but not list the directory. */
function openWay(cachedir: string): void {
  mkdirSync(cachedir, { recursive: true });
  const { mode } = statSync(cachedir);
  if ((mode & othersMayPass) === 0) chmodSync(cachedir, (mode & 0o7777) | othersMayPass);
}

function usersOf(
  expressions: readonly string[],
  { client_acl_verify: isVerified }: UsersConfig,
  logger: Pick<Logger, "warn">,
): ReadonlyMap<string, number | undefined> {
  const names = expressions.filter((expression) => userName.test(expression));
  const known = passwdEntries([], logger);
  const missing = names.filter((name) => !known.has(name));
  // Some name services (LDAP, SSSD) find users by name but do not list them.
  const asked = missing.length > 0 ? passwdEntries(missing, logger) : new Map<string, number>();
  const users = new Map<string, number | undefined>();
  for (const [name, uid] of [...known, ...asked])
    if (userName.test(name) && expressions.some((expression) => expressionMatches(name, expression)))
      users.set(name, uid);
  if (!isVerified) for (const name of names) if (!users.has(name)) users.set(name, undefined);
  return users;
}

/** Names and uids from the system's name services (`getent passwd`). Unknown names are left out. */
function passwdEntries(names: readonly string[], logger: Pick<Logger, "warn">): Map<string, number> {
  let text = "";
  try {
    const limits = { timeout: probeTimeoutMs, maxBuffer: probeOutputBytesMax, encoding: "utf8" } as const;
    text = execFileSync("getent", ["passwd", ...names], { ...limits, stdio: ["ignore", "pipe", "ignore"] });
  } catch (error) {
    // getent exits with 2 if a name is unknown, after it has printed the others.
    const { status, stdout } = error as { readonly status?: number; readonly stdout?: string };
    if (status !== 2) logger.warn({ err: error }, "the users of this machine could not be listed for publisher_acl");
    text = stdout ?? "";
  }
  const entries = text.split("\n").map((line) => line.split(":"));
  return new Map(entries.flatMap(([name, , uid]) => (name && uid ? [[name, Number(uid)] as const] : [])));
}
