/**
 * A minion of a storm: signs in as a real one does, then keeps only the keys and state to seal requests and check replies.
 * It answers no publishes: a storm sends the returns of jobs that were published before.
 */
import { randomBytes } from "node:crypto";
import { Crypticle } from "../../../src/crypto/crypticle.ts";
import { hasCode, SaltworksError } from "../../../src/errors.ts";
import { finishAuth, type Keys, type Master, requestToken, startAuth } from "../handshake.ts";
import type { MinionKey } from "../keys.ts";
import type { RequestVersion } from "../minion-options.ts";
import type { Sender } from "../sealed-request.ts";
import type { Connection } from "./connection.ts";

const authTimeoutMs = 30_000;
/** X9.31 of a 2,048-bit key. */
const tokenBytes = 256;

export type StormMinion = { readonly sender: Sender; keys: Keys; readonly master: Master | undefined };

/** @returns undefined while the key waits for its acceptance @throws SaltworksError AUTH_FAILED if the master refuses or does not answer */
export async function signIn(
  connection: Connection,
  id: string,
  key: MinionKey,
  version: RequestVersion,
): Promise<StormMinion | undefined> {
  const sender = { id, key, token: requestToken(key), version };
  const attempt = startAuth(id, key, version, undefined);
  const reply = await connection.request(attempt.request, authTimeoutMs).catch((error: unknown) => {
    if (hasCode(error, "REQUEST_TIMEOUT")) throw unaccepted(id, `no reply in ${authTimeoutMs} ms`);
    throw error;
  });
  const outcome = finishAuth(attempt, reply, key, version, undefined);
  if (outcome.kind === "accepted") return { sender, keys: outcome.keys, master: outcome.master };
  if (outcome.kind === "pending") return undefined;
  throw unaccepted(id, "the master refuses it, as it does a minion with another key than the accepted one");
}

export function unaccepted(id: string, why: string): SaltworksError {
  return new SaltworksError("AUTH_FAILED", `${id} was not accepted: ${why}`, { id });
}

/** For a server without `_auth`: requests are sealed as always, with a token that the server does not check. */
export function minionWithKey(id: string, sessionKey: string, version: RequestVersion): StormMinion {
  const requestKey = { text: sessionKey, crypticle: new Crypticle(sessionKey) };
  // Never used: without `_auth` the minion's own key has no use.
  const key = undefined as unknown as MinionKey;
  const sender = { id, key, token: randomBytes(tokenBytes), version };
  return { sender, keys: { aes: requestKey, requestKey, publishPort: 0 }, master: undefined };
}
