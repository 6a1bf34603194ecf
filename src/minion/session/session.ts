/**
 * The minion's session with its master: holds the keys, encrypts requests, decrypts and verifies replies and publishes.
 * If a message does not decrypt under the current keys, the session authenticates once and tries the same message again.
 * Source: docs/protocol.md sections 2, 4 and 6.3.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { equalSecrets } from "../../crypto/compare.ts";
import { Crypticle } from "../../crypto/crypticle.ts";
import { decryptOaep, isSigAlgorithm, sign, verify } from "../../crypto/rsa.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { RequestChannel } from "../../transport/request-channel.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { decodePublish } from "../../wire/publish.ts";
import { decodePrivateData, decodePrivateReply, decodePrivateSigned } from "../../wire/reply.ts";
import { encodeSealedRequest } from "../../wire/request.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { Identity } from "./identity.ts";
import type { Credentials } from "./master-trust.ts";

export type Load = { readonly [key: string]: Encodable };
export type RequestOptions = {
  readonly timeoutMs?: number;
  readonly tries?: number;
  /** Uses the second channel, because a slow request would delay the others. */
  readonly isSlow?: boolean;
};

/** A channel to the master's request port. It connects at the first request. */
export type Channel = Pick<RequestChannel, "request" | "close">;

export type SessionOptions = {
  readonly config: MinionConfig;
  readonly identity: Identity;
  readonly log: Logger;
  readonly openChannel: () => Channel;
  readonly signIn: () => Promise<Credentials>;
  /** Called if authentication failed and a retry cannot succeed: the minion must end. */
  readonly onEnd: (error: unknown) => void;
  readonly signal: AbortSignal;
};

type Keys = Credentials & { readonly publishSeal: Crypticle; readonly requestSeal: Crypticle };

/** Errors of authentication that end the minion. */
const finalCodes = ["AUTH_REJECTED"] as const;

export class Session {
  readonly #options: SessionOptions;
  readonly #version: number;
  readonly #channel: Channel;
  readonly #slowChannel: Channel;
  #keys: Keys | undefined;
  #signingIn: Promise<Keys> | undefined;
  #lastSerial = 0;
  #signInCount = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#version = Number(options.config.request_version);
    this.#channel = options.openChannel();
    this.#slowChannel = options.openChannel();
  }

  /** The number of authentications so far. */
  get signInCount(): number {
    return this.#signInCount;
  }

  get publishPort(): number | undefined {
    return this.#keys?.publishPort;
  }

  close(): void {
    this.#channel.close();
    this.#slowChannel.close();
  }

  /** Authenticates, or waits for the authentication that runs. Throws errors of `signIn`. */
  async authenticate(): Promise<void> {
    await this.#renewKeys();
  }

  #renewKeys(): Promise<Keys> {
    this.#signingIn ??= this.#signIn().finally(() => {
      this.#signingIn = undefined;
    });
    return this.#signingIn;
  }

  async #signIn(): Promise<Keys> {
    try {
      const credentials = await this.#options.signIn();
      this.#signInCount += 1;
      if (this.#keys?.aes !== credentials.aes) this.#lastSerial = 0;
      const publishSeal = new Crypticle(credentials.aes);
      const requestSeal =
        this.#version >= 3 && credentials.session !== undefined ? new Crypticle(credentials.session) : publishSeal;
      this.#keys = { ...credentials, publishSeal, requestSeal };
      return this.#keys;
    } catch (error) {
      const isFinal = finalCodes.some((code) => hasCode(error, code)) || isFingerMismatch(error);
      if (isFinal) this.#options.onEnd(error);
      throw error;
    }
  }

  /** Authenticates after a message that did not decrypt. In request version 0, as in Salt, waits a random time first, to spread a fleet. */
  async #authenticateAnew(seen: Keys): Promise<Keys> {
    if (this.#keys !== undefined && this.#keys !== seen) return this.#keys;
    if (this.#version === 0) {
      const delayMs = Math.random() * this.#options.config.random_reauth_delay * 1_000;
      await sleep(delayMs, undefined, { signal: this.#options.signal });
    }
    this.#options.log.info("the master's keys have changed; authenticating again");
    return await this.#renewKeys();
  }

  /**
   * One encrypted request. Adds `nonce`, `ts`, `tok` and `id` as the request version requires.
   *
   * @throws SaltworksError REQUEST_TIMEOUT after all tries, CRYPTO_BAD_MAC if the reply does not decrypt after a new authentication either, and
   * errors of `authenticate`
   */
  async request(load: Load, options: RequestOptions = {}): Promise<Value> {
    return await this.#withTries(options, async (keys, timeoutMs) => {
      const channel = options.isSlow ? this.#slowChannel : this.#channel;
      const { frame, nonce } = this.#pack(load, keys);
      const reply = await channel.request(frame, { timeoutMs, tries: 1, signal: this.#options.signal });
      return readSealedReply(reply, keys.requestSeal, this.#version < 2 ? undefined : nonce);
    });
  }

  /**
   * Sends a request whose reply the master encrypts for this minion's key and signs (`_pillar`).
   *
   * @throws SaltworksError CRYPTO_DECRYPT_FAILED if the reply is encrypted for another key, and as `request`
   */
  async requestPrivate(load: Load, options: RequestOptions = {}): Promise<Value> {
    return await this.#withTries(options, async (keys, timeoutMs) => {
      const { frame, nonce } = this.#pack(load, keys);
      const reply = await this.#slowChannel.request(frame, { timeoutMs, tries: 1, signal: this.#options.signal });
      return this.#readPrivateReply(reply, keys, nonce);
    });
  }

  /** Makes up to `tries` attempts, one after the other. A reply that does not decrypt causes one authentication and one more request. */
  async #withTries<Result>(
    options: RequestOptions,
    attempt: (keys: Keys, timeoutMs: number) => Promise<Result>,
  ): Promise<Result> {
    const { config } = this.#options;
    const triesMax = options.tries ?? config.request_channel_tries;
    const timeoutMs = options.timeoutMs ?? config.request_channel_timeout * 1_000;
    for (let tried = 1; ; tried += 1) {
      const keys = this.#keys ?? (await this.#renewKeys());
      try {
        try {
          return await attempt(keys, timeoutMs);
        } catch (error) {
          if (!isStaleKeys(error)) throw error;
          return await attempt(await this.#authenticateAnew(keys), timeoutMs);
        }
      } catch (error) {
        if (tried >= triesMax || isHopeless(error) || this.#options.signal.aborted) throw error;
        this.#options.log.debug({ err: error, tried, triesMax }, "a request failed; trying again");
      }
    }
  }

  /** Encrypts the load and packs it. Adds the fields of Salt's minions of each request version, in their order. */
  #pack(load: Load, keys: Keys): { frame: Buffer; nonce: string } {
    const { config, identity } = this.#options;
    const nonce = randomBytes(16).toString("hex");
    if (this.#version < 3) {
      const packed = encode(this.#version === 0 ? load : { ...load, nonce }, "raw");
      return { frame: encodeSealedRequest(keys.requestSeal.seal(packed), { version: this.#version }), nonce };
    }
    const ts = Math.floor(Date.now() / 1_000);
    const whole: Load = { ...load, nonce, ts, tok: identity.token, id: identity.id };
    const signed = config.minion_sign_messages ? { ...whole, sig: this.#signatureOf(whole) } : whole;
    const sealed = keys.requestSeal.seal(encode(signed, "raw"));
    const envelope = {
      version: 3,
      id: identity.id,
      encAlgorithm: config.encryption_algorithm,
      sigAlgorithm: config.signing_algorithm,
    };
    return { frame: encodeSealedRequest(sealed, envelope), nonce };
  }

  /** Signs the load without nonce and token, which the master removes before it verifies. */
  #signatureOf(load: Load): Buffer {
    const { nonce: _nonce, tok: _token, ...kept } = load;
    return sign(this.#options.identity.privateKey, encode(kept, "bin"), this.#options.config.signing_algorithm);
  }

  #readPrivateReply(frame: Buffer, keys: Keys, nonce: string): Value {
    const { config, identity } = this.#options;
    const reply = decodePrivateReply(frame);
    const keyString = decryptOaep(identity.privateKey, reply.key, config.encryption_algorithm).toString("latin1");
    const packed = new Crypticle(keyString).open(reply.pillar);
    if (this.#version < 2) return decode(packed);
    const { data, sig } = decodePrivateSigned(packed);
    if (!verify(keys.masterKey, data, sig, config.signing_algorithm)) {
      throw new SaltworksError("CRYPTO_BAD_SIGNATURE", "the master's signature of the pillar does not verify");
    }
    const content = decodePrivateData(data);
    if (!equalSecrets(content.key, reply.key)) {
      throw new SaltworksError("CRYPTO_BAD_SIGNATURE", "the signed pillar belongs to another key");
    }
    if (content.nonce !== nonce)
      throw new SaltworksError("CRYPTO_BAD_NONCE", "the pillar is the reply to another request");
    return content.pillar;
  }

  /**
   * The load of a publish. Undefined if a required signature is missing or wrong, if the publish does not decrypt even after a new
   * authentication, or if it is not newer than the last one.
   */
  async openPublish(frame: Uint8Array): Promise<ValueMap | undefined> {
    const { log } = this.#options;
    try {
      const publish = decodePublish(frame);
      const keys = this.#keys ?? (await this.#renewKeys());
      try {
        return this.#readPublish(publish, keys);
      } catch (error) {
        if (!hasCode(error, "CRYPTO_BAD_MAC")) throw error;
        return this.#readPublish(publish, await this.#authenticateAnew(keys));
      }
    } catch (error) {
      log.warn({ err: error }, "a publish could not be read and is ignored");
      return undefined;
    }
  }

  #readPublish(publish: ReturnType<typeof decodePublish>, keys: Keys): ValueMap | undefined {
    if (this.#options.config.sign_pub_messages) {
      const algorithm = publish.sigAlgorithm ?? "PKCS1v15-SHA1";
      const isSigned =
        publish.sig !== undefined &&
        isSigAlgorithm(algorithm) &&
        verify(keys.masterKey, publish.load, publish.sig, algorithm);
      if (!isSigned) throw new SaltworksError("CRYPTO_BAD_SIGNATURE", "the signature of a publish does not verify");
    }
    const load = decode(keys.publishSeal.open(publish.load));
    if (!(load instanceof Map)) throw new SaltworksError("WIRE_MALFORMED", "a publish that is not a map");
    const serial = load.get("serial");
    if (serial === undefined) return load;
    load.delete("serial");
    if (typeof serial !== "number" || serial <= this.#lastSerial) {
      throw new SaltworksError("WIRE_MALFORMED", "the serial number of a publish is not above the last one");
    }
    this.#lastSerial = serial;
    return load;
  }
}

function isFingerMismatch(error: unknown): boolean {
  return hasCode(error, "AUTH_MASTER_MISMATCH") && error instanceof SaltworksError && error.detail.isFinger === true;
}

/**
 * Whether a retry would fail too: the channel is closed, the master does not accept this minion, or it encrypted the pillar for another key than
 * this minion's. As in Salt, such a pillar fails at once, without a new authentication.
 */
function isHopeless(error: unknown): boolean {
  return (
    hasCode(error, "CHANNEL_CLOSED") ||
    hasCode(error, "CRYPTO_DECRYPT_FAILED") ||
    (error instanceof SaltworksError && error.code.startsWith("AUTH_"))
  );
}

/** Whether the master's keys may have changed: the reply's MAC or signature does not verify, or the master could not read the request. */
function isStaleKeys(error: unknown): boolean {
  return (
    hasCode(error, "CRYPTO_BAD_MAC") || hasCode(error, "REQUEST_REFUSED") || hasCode(error, "CRYPTO_BAD_SIGNATURE")
  );
}

/** Decrypts a reply. Returns nil and an empty reply as they are: masters send them for a request without a result. */
function readSealedReply(frame: Buffer, seal: Crypticle, nonce: string | undefined): Value {
  const sealed = decode(frame, "bytes");
  if (sealed === null) return null;
  if (!(sealed instanceof Uint8Array))
    throw new SaltworksError("REQUEST_REFUSED", "the master could not read the request");
  return sealed.length === 0 ? "" : decode(seal.open(sealed, nonce));
}
