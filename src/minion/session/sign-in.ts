/**
 * Authenticates with the master: asks until the key is accepted, verifies the answer, pins the master's key.
 * Source: docs/protocol.md sections 1.3 and 3; waits and outcomes are those of Salt's minion.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { generateKeyString } from "../../crypto/crypticle.ts";
import { encryptOaep } from "../../crypto/rsa.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { RequestChannel } from "../../transport/request-channel.ts";
import { type AuthAccepted, type AuthReply, badLoad, decodeAuthReply } from "../../wire/reply.ts";
import { encodeClearRequest } from "../../wire/request.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { type Identity, type PinnedKey, pinMasterKey, readPinnedKey } from "./identity.ts";
import { type AuthAsked, acceptKeys, type Credentials, checkVerdict } from "./master-trust.ts";

export type SignInOptions = {
  readonly config: MinionConfig;
  readonly identity: Identity;
  readonly log: Logger;
  /** Opens the channel of one sign-in; `signIn` closes it. */
  readonly openChannel: () => Pick<RequestChannel, "request" | "close">;
  /** For `autosign_grains`. */
  readonly grains: () => ValueMap;
  /** Ends the waits between tries. */
  readonly signal: AbortSignal;
  /** For the command line, which does not wait for an operator to accept the key. */
  readonly isOneTry?: boolean;
};

/** Outcomes of a try in which the master sent no keys. */
type Again = "pending" | "timeout" | "rejected";

/**
 * Asks until the master gives keys.
 *
 * @throws SaltworksError AUTH_REJECTED (unless `rejected_retry`), AUTH_FULL, AUTH_MASTER_MISMATCH, AUTH_FAILED, CRYPTO_BAD_SIGNATURE,
 * CRYPTO_BAD_NONCE
 */
export async function signIn(options: SignInOptions): Promise<Credentials> {
  const { config, log, signal } = options;
  const channel = options.openChannel();
  const waitMaxMs = Math.max(config.acceptance_wait_time_max, config.acceptance_wait_time) * 1_000;
  let waitMs = config.acceptance_wait_time * 1_000;
  try {
    for (;;) {
      const outcome = await tryOnce(options, channel);
      if (typeof outcome !== "string") return outcome;
      if (options.isOneTry) throw new SaltworksError("AUTH_FAILED", notAcceptedText, { outcome });
      log.warn({ outcome, waitMs }, againTexts[outcome]);
      await sleep(waitMs, undefined, { signal });
      waitMs = Math.min(waitMs * 2, waitMaxMs);
    }
  } finally {
    channel.close();
  }
}

const notAcceptedText = "Minion failed to authenticate with the master, has the minion key been accepted?";
const againTexts: { readonly [Outcome in Again]: string } = {
  pending: "the master keeps this minion's key until an operator accepts it; asking again",
  timeout: "the master did not answer the authentication; asking again (auth_safemode)",
  rejected: "the master rejected this minion's key; asking again (rejected_retry)",
};

async function tryOnce(options: SignInOptions, channel: Pick<RequestChannel, "request">): Promise<Credentials | Again> {
  const { config, identity, signal } = options;
  await identity.renew();
  const pinned = await readPinnedKey(config.pki_dir);
  const { asked, load } = authLoad(options, pinned);
  let frame: Buffer;
  try {
    frame = await channel.request(encodeClearRequest(load, asked.version), {
      timeoutMs: config.auth_timeout * 1_000,
      tries: config.auth_tries,
      signal,
    });
  } catch (error) {
    if (!hasCode(error, "REQUEST_TIMEOUT")) throw error;
    if (config.auth_safemode) return "timeout";
    throw new SaltworksError("AUTH_FAILED", "the master did not answer the authentication", {}, { cause: error });
  }
  if (badLoad.equals(frame)) throw refusedUnread(asked.version);
  const reply = readReply(frame);
  if (!hasKeys(reply)) {
    checkVerdict(reply, asked, pinned, config.signing_algorithm);
    return afterVerdict(reply.ret, config);
  }
  const credentials = await acceptKeys(reply, asked, identity, pinned, config);
  if (pinned?.pem !== credentials.masterPem) await pinMasterKey(config.pki_dir, credentials.masterPem);
  return credentials;
}

function hasKeys(reply: AuthReply): reply is AuthReply & { accepted: AuthAccepted } {
  return reply.accepted !== undefined;
}

/** The error if the master could not read the request: usually its `minimum_auth_version` is higher. */
function refusedUnread(version: number): SaltworksError {
  const hint = version < 3 ? "; its minimum_auth_version may be higher" : "";
  return new SaltworksError(
    "AUTH_FAILED",
    `the master does not accept an authentication of request version ${version}${hint}`,
  );
}

function readReply(frame: Buffer): AuthReply {
  try {
    return decodeAuthReply(frame);
  } catch (cause) {
    throw new SaltworksError("AUTH_FAILED", "the master's answer to the authentication cannot be read", {}, { cause });
  }
}

function afterVerdict(ret: boolean | string | undefined, config: MinionConfig): Again {
  if (ret === "full") throw new SaltworksError("AUTH_FULL", "the master already serves max_minions");
  if (ret === "bad enc algo" || ret === "bad sig algo") {
    throw new SaltworksError("AUTH_FAILED", `the master does not support this minion's algorithm (${ret})`);
  }
  if (ret === undefined) throw new SaltworksError("AUTH_FAILED", "the master's answer is neither keys nor a verdict");
  if (ret !== false) return "pending";
  if (config.rejected_retry) return "rejected";
  throw new SaltworksError(
    "AUTH_REJECTED",
    "the master rejected this minion's key; delete it there, then start this minion again",
  );
}

/** The load of an authentication, with the fields and the order of Salt's minions of each request version. */
function authLoad(options: SignInOptions, pinned: PinnedKey | undefined): { asked: AuthAsked; load: Encodable } {
  const { config, identity } = options;
  const version = Number(config.request_version);
  const nonce = randomBytes(16).toString("hex");
  const challenge = pinned === undefined ? undefined : generateKeyString();
  const algorithms = version < 3 ? {} : { enc_algo: config.encryption_algorithm, sig_algo: config.signing_algorithm };
  const load = {
    cmd: "_auth",
    id: identity.id,
    nonce: version < 2 ? undefined : nonce,
    ...algorithms,
    autosign_grains: autosignGrains(options),
    token:
      pinned === undefined || challenge === undefined
        ? undefined
        : encryptOaep(pinned.key, Buffer.from(challenge), config.encryption_algorithm),
    pub: version === 0 ? `${identity.publicPem}\n` : identity.publicPem,
  };
  return { asked: { version, nonce, challenge }, load };
}

function autosignGrains({ config, grains }: SignInOptions): Encodable {
  if (config.autosign_grains.length === 0) return undefined;
  const known = grains();
  return new Map(config.autosign_grains.map((name) => [String(name), known.get(String(name)) ?? null]));
}
