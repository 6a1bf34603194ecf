/** One minion in the test's own process, whose requests a test can change in any way. */

import {
  encAlgorithm,
  finishAuth,
  type Keys,
  type Master,
  newNonce,
  requestToken,
  sigAlgorithm,
  startAuth,
} from "../../bench/fleet/handshake.ts";
import type { MinionKey } from "../../bench/fleet/keys.ts";
import { openPrivateReply, openReply, type Sealed } from "../../bench/fleet/sealed-request.ts";
import { RequestChannel } from "../../src/transport/request-channel.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { encodeSealedRequest } from "../../src/wire/request.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";

type Load = { readonly [key: string]: Encodable };

const requestTimeoutMs = 30_000;

export class ProbeMinion {
  readonly id: string;
  readonly key: MinionKey;
  readonly token: Buffer;
  readonly keys: Keys;
  readonly #channel: RequestChannel;
  readonly #master: Master;

  private constructor(id: string, key: MinionKey, keys: Keys, master: Master, channel: RequestChannel) {
    this.id = id;
    this.key = key;
    this.token = requestToken(key);
    this.keys = keys;
    this.#master = master;
    this.#channel = channel;
  }

  /** Authenticates with a master that accepts every key. */
  static async open(id: string, key: MinionKey, requestPort: number): Promise<ProbeMinion> {
    const channel = new RequestChannel({
      endpoint: `tcp://127.0.0.1:${requestPort}`,
      timeoutMs: requestTimeoutMs,
      tries: 1,
    });
    const attempt = startAuth(id, key, 3, undefined);
    const outcome = finishAuth(attempt, await channel.request(attempt.request), key, 3, undefined);
    if (outcome.kind !== "accepted") {
      channel.close();
      throw new Error(`${id} was not accepted: ${outcome.kind}`);
    }
    return new ProbeMinion(id, key, outcome.keys, outcome.master, channel);
  }

  /** A correct sealed request with `changes`; undefined removes a member. */
  seal(load: Load, changes: Load = {}, outerId: string = this.id): Sealed {
    const nonce = newNonce();
    const ts = Math.floor(Date.now() / 1_000);
    const whole = { ...load, id: this.id, nonce, ts, tok: this.token, ...changes };
    const sealed = this.keys.requestKey.crypticle.seal(encode(whole, "raw"));
    return { frame: encodeSealedRequest(sealed, { version: 3, id: outerId, encAlgorithm, sigAlgorithm }), nonce };
  }

  returnLoad(jid: string): Load {
    return { cmd: "_return", success: true, return: true, retcode: 0, jid, fun: "test.ping", fun_args: [] };
  }

  /** @throws SaltworksError if the reply is not an acknowledgement */
  async return(jid: string): Promise<Value> {
    return this.ask(this.seal(this.returnLoad(jid)));
  }

  async ask({ frame, nonce }: Sealed): Promise<Value> {
    const sender = { id: this.id, key: this.key, token: this.token, version: 3 } as const;
    return openReply(await this.#channel.request(frame), nonce, sender, this.keys);
  }

  /** The pillar for these grains, over a separate connection, so that other requests continue. */
  async pillar(grains: Encodable, requestPort: number, more: Load = {}): Promise<Value> {
    const { frame, nonce } = this.seal({
      cmd: "_pillar",
      grains,
      saltenv: null,
      pillarenv: null,
      pillar_override: {},
      ver: "2",
      ...more,
    });
    const options = { endpoint: `tcp://127.0.0.1:${requestPort}`, timeoutMs: requestTimeoutMs, tries: 1 };
    const channel = new RequestChannel(options);
    try {
      const sender = { id: this.id, key: this.key, token: this.token, version: 3 } as const;
      return openPrivateReply(await channel.request(frame), nonce, sender, this.#master);
    } finally {
      channel.close();
    }
  }

  close(): void {
    this.#channel.close();
  }
}
