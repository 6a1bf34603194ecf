/**
 * An operator's proof of identity to the master: the content of a key file that only this user can read, a token, or a name and password for an
 * eauth system. Source: docs/protocol.md sections 7.2 and 11.1.
 */
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { apiKeyUser } from "../config/api-key.ts";
import type { MasterConfig } from "../config/load.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { wheelReplyTimeoutMs } from "../limits.ts";
import type { ValueMap } from "../wire/values.ts";
import type { RequestChannels } from "./request-channels.ts";
import { notContactedText, notPermittedText } from "./texts.ts";

/** Proof of identity of a user of an eauth system. */
export type Login =
  | { readonly token: string }
  | { readonly eauth: string; readonly username: string; readonly password: string };
/** `user`: the user of the asking process, such as `root` or `sudo_ann`. With a key the master records this name with each request. */
export type Credentials = {
  readonly user: string;
  readonly proof: { readonly key: string } | Login;
  readonly sender?: Sender | undefined;
};

/** Members of a request that the API process sends for an HTTP client. The client's own token or password decides what it may do. */
export type Sender = { readonly user: string; readonly key?: string; readonly client_address?: string };

/**
 * How the API process names the HTTP client at `address`, so that the master counts guesses by that address.
 *
 * @throws SaltworksError AUTH_FAILED, MASTER_UNREACHABLE as `readCredentials`
 */
export async function readSender(config: MasterConfig, address: string): Promise<Sender> {
  const { proof } = await readCredentials(config, apiKeyUser);
  return { user: apiKeyUser, ...proof, client_address: address };
}

/** Root, also by sudo, uses the key of the master's own user. */
function keyOwner(user: string, masterUser: string): string {
  return user === "root" || user.startsWith("sudo_") ? masterUser : user;
}

function keyFile(config: MasterConfig, owner: string): string {
  return join(config.cachedir, `.${owner.replaceAll("\\", "_")}_key`);
}

/**
 * @throws SaltworksError AUTH_FAILED if this user has no key file or may not read it, MASTER_UNREACHABLE if the master's user has none either:
 * no master ever ran here
 */
export async function readCredentials(
  config: MasterConfig,
  user: string,
): Promise<{ readonly user: string; readonly proof: { readonly key: string } }> {
  const file = keyFile(config, keyOwner(user, config.user));
  try {
    return { user, proof: { key: await readFile(file, "utf8") } };
  } catch (error) {
    const errno = error instanceof Error && "code" in error ? error.code : undefined;
    if (errno === "ENOENT" && !(await isThere(keyFile(config, config.user)))) {
      throw new SaltworksError("MASTER_UNREACHABLE", notContactedText, { file }, { cause: error });
    }
    throw new SaltworksError("AUTH_FAILED", notPermittedText, { file }, { cause: error });
  }
}

async function isThere(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}

export type PasswordLogin = Extract<Login, { readonly password: string }>;

/**
 * Asks the master for a token. `sender`: the API process, for an HTTP client.
 *
 * @returns the token's fields; undefined if the master does not know the user or refuses the password
 * @throws SaltworksError as `RequestChannels.ask`
 */
export async function makeToken(
  channels: Pick<RequestChannels, "ask">,
  login: PasswordLogin,
  expireSeconds?: number,
  sender?: Sender,
): Promise<ValueMap | undefined> {
  const expiry = expireSeconds === undefined ? {} : { token_expire: expireSeconds };
  const load = { cmd: "mk_token", ...login, ...expiry, ...sender };
  try {
    return await channels.ask(load, wheelReplyTimeoutMs);
  } catch (error) {
    if (!hasCode(error, "AUTH_FAILED")) throw error;
    return undefined;
  }
}
