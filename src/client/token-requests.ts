/** Asks the master for tokens of eauth users: the fields of a new one. Source: docs/protocol.md section 7.2. */
import { hasCode } from "../errors.ts";
import { wheelReplyTimeoutMs } from "../limits.ts";
import type { ValueMap } from "../wire/values.ts";
import type { Login } from "./credentials.ts";
import type { RequestChannels } from "./request-channels.ts";

export type PasswordLogin = Extract<Login, { readonly password: string }>;

/**
 * @returns the token's fields; undefined if the master does not know the user or refuses the password
 * @throws SaltworksError as `RequestChannels.ask`
 */
export async function makeToken(
  channels: Pick<RequestChannels, "ask">,
  login: PasswordLogin,
  expireSeconds?: number,
): Promise<ValueMap | undefined> {
  const load = { cmd: "mk_token", ...login, ...(expireSeconds === undefined ? {} : { token_expire: expireSeconds }) };
  try {
    return await channels.ask(load, wheelReplyTimeoutMs);
  } catch (error) {
    if (!hasCode(error, "AUTH_FAILED")) throw error;
    return undefined;
  }
}
