/**
 * A minion with a list of members: it is subscribed at one, and moves to the next when that one is silent or refuses a return. It keeps what a stock
 * minion keeps, and writes down what came and what was acknowledged.
 */
import { setTimeout as pause } from "node:timers/promises";
import { SaltworksError } from "../../../src/errors.ts";
import { matches } from "../../../src/target/match.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import { returnLoad } from "../../fleet/answers.ts";
import { finishAuth, type Keys, type Master, requestToken, startAuth } from "../../fleet/handshake.ts";
import type { MinionKey } from "../../fleet/keys.ts";
import { type Publish, PublishReader } from "../../fleet/publish-reader.ts";
import { openReply, type Sender, sealRequest } from "../../fleet/sealed-request.ts";
import { Connection } from "../../fleet/storm/connection.ts";
import type { History, Subscribed } from "./history.ts";

export type Address = { readonly host: string; readonly requestPort: number };

/** As Salt's `return_retry_timer`, `recon_default` and request version of its releases. */
const replyTimeoutMs = 5_000;
const reconnectMs = 1_000;
const version = 3;
const idleMs = 50;
const returnBytes = [64, 64] as const;
const reader = new PublishReader(() => undefined);

type Options = {
  readonly id: string;
  readonly key: MinionKey;
  readonly members: readonly Address[];
  readonly at: number;
  readonly history: History;
};

export class RecordingMinion {
  readonly id: string;
  readonly #options: Options;
  readonly #sender: Sender;
  readonly #facts: { readonly id: string; readonly grains: ValueMap; readonly pillar: ValueMap };
  readonly #had = new Set<string>();
  readonly #waiting = new Map<string, Publish>();
  readonly #stopped = new AbortController();
  #at: number;
  #span: Subscribed | undefined;
  #master: Master | undefined;
  #lastSerial = { aes: "", serial: 0 };
  #life: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    const { id, key, at } = options;
    [this.id, this.#options, this.#at] = [id, options, at];
    this.#sender = { id, key, token: requestToken(key), version };
    this.#facts = { id, grains: new Map(), pillar: new Map() };
  }

  get isSubscribed(): boolean {
    return this.#span !== undefined;
  }

  /** Jobs that it has run and whose return no member has acknowledged yet. */
  get unacknowledged(): number {
    return this.#waiting.size;
  }

  start(): void {
    this.#life = this.#live();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#life;
  }

  async #live(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      let isStale = false;
      try {
        isStale = await this.#stay();
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
      }
      if (!isStale) this.#at = (this.#at + 1) % this.#options.members.length;
      await pause(reconnectMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Lives with one member. @returns whether that member has a newer AES key @throws SaltworksError if it is silent or refuses */
  async #stay(): Promise<boolean> {
    const { host, requestPort } = this.#address;
    let [isOver, isStale] = [false, false];
    const requests = await Connection.open({ host, port: requestPort, type: "REQ" });
    const closed = new Promise<never>((_, reject) => {
      requests.onClose = () => {
        isOver = true;
        reject(new SaltworksError("MASTER_UNREACHABLE", `${host} has closed the connection`));
      };
    });
    closed.catch(() => undefined);
    let publishes: Connection | undefined;
    try {
      const keys = await this.#authenticate(requests);
      publishes = await Connection.open({ host, port: keys.publishPort, type: "SUB" });
      publishes.onClose = requests.onClose;
      publishes.onMessage = (frame) => {
        isStale ||= !this.#hear(Buffer.from(frame), keys);
      };
      this.#begin();
      while (!isOver && !isStale && !this.#stopped.signal.aborted) {
        await Promise.race([this.#returnAll(requests, keys), closed]);
        await pause(idleMs * (0.5 + Math.random()));
      }
      return isStale;
    } finally {
      this.#end();
      requests.close();
      publishes?.close();
    }
  }

  get #address(): Address {
    const address = this.#options.members[this.#at];
    if (address === undefined) throw new RangeError("no member");
    return address;
  }

  #begin(): void {
    const fromMs = performance.now();
    this.#span = { minion: this.id, member: this.#at, fromMs, toMs: Number.POSITIVE_INFINITY };
    this.#options.history.subscribed.push(this.#span);
  }

  #end(): void {
    if (this.#span !== undefined) this.#span.toMs = performance.now();
    this.#span = undefined;
  }

  async #authenticate(requests: Connection): Promise<Keys> {
    const { id, key } = this.#sender;
    const attempt = startAuth(id, key, version, this.#master);
    const reply = await requests.request(attempt.request, replyTimeoutMs);
    const outcome = finishAuth(attempt, reply, key, version, this.#master);
    if (outcome.kind !== "accepted") throw new SaltworksError("AUTH_FAILED", `${id} is ${outcome.kind}`);
    this.#master = outcome.master;
    return outcome.keys;
  }

  /** @returns false if the publish is sealed under another key than the minion has */
  #hear(frame: Buffer, keys: Keys): boolean {
    if (this.#master === undefined) return true;
    let publish: Publish | undefined;
    try {
      publish = reader.read(frame, keys.aes, this.#master);
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      return false;
    }
    if (publish !== undefined && matches(publish.target, this.#facts)) this.#take(publish, keys.aes.text);
    else if (publish !== undefined) this.#isNew(publish, keys.aes.text);
    return true;
  }

  #take(publish: Publish, aes: string): void {
    const { jid } = publish;
    const isFirst = !this.#had.has(jid);
    const kind = !this.#isNew(publish, aes) ? "stale" : isFirst ? "first" : "again";
    this.#options.history.delivered.push({ jid, minion: this.id, member: this.#at, kind });
    if (kind !== "first") return;
    this.#had.add(jid);
    this.#waiting.set(jid, publish);
  }

  /** As a stock minion: what is not above the last serial under the same key is dropped. Salt's cluster sends no serials. */
  #isNew({ serial }: Publish, aes: string): boolean {
    if (serial === 0) return true;
    const last = this.#lastSerial.aes === aes ? this.#lastSerial.serial : 0;
    if (serial <= last) return false;
    this.#lastSerial = { aes, serial };
    return true;
  }

  async #returnAll(requests: Connection, keys: Keys): Promise<void> {
    for (const [jid, job] of this.#waiting) {
      const { frame, nonce } = sealRequest(returnLoad(this.id, job, new Map(), returnBytes), this.#sender, keys);
      const answer = openReply(await requests.request(frame, replyTimeoutMs), nonce, this.#sender, keys);
      if (answer === false) throw new SaltworksError("REQUEST_REFUSED", "the return was not taken");
      this.#waiting.delete(jid);
      this.#options.history.acknowledged.push({ jid, minion: this.id, member: this.#at });
    }
  }
}
