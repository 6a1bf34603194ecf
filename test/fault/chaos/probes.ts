/** Honest minions that ask without pause, as on a mixed day: returns, mines, pillars, events and authentications. They keep what was acknowledged. */
import { generateKeyPairSync } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { finishAuth, type Keys, type Master, requestToken, startAuth } from "../../../bench/fleet/handshake.ts";
import type { MinionKey } from "../../../bench/fleet/keys.ts";
import { openPrivateReply, openReply, type Sender, sealRequest } from "../../../bench/fleet/sealed-request.ts";
import { Connection } from "../../../bench/fleet/storm/connection.ts";
import type { Random } from "../../../bench/load/random.ts";
import { hasCode, SaltworksError } from "../../../src/errors.ts";
import { jidAt } from "../../../src/wire/jid.ts";
import type { Encodable, Value } from "../../../src/wire/values.ts";

/** Timeout of an honest request. */
export const replyTimeoutMs = 20_000;
const retryWaitMs = 200;
const mineFunction = "test.counted";
/** A return's text: mostly small, sometimes of real sizes. */
const sizes = [64, 64, 64, 64, 64, 64, 64, 4_096, 4_096, 4_096, 4_096, 100_000] as const;

export type ProbeFailure = { readonly atMs: number; readonly asked: string; readonly why: string };

type Session = { readonly connection: Connection; readonly keys: Keys; readonly master: Master };

class Probe {
  readonly id: string;
  /** Jobs whose return was acknowledged. */
  readonly acknowledged: string[] = [];
  mineAcknowledged = 0;
  #mineSent = 0;
  readonly #sender: Sender;
  readonly #port: number;
  #session: Session | undefined;

  constructor(id: string, key: MinionKey, port: number) {
    this.id = id;
    this.#port = port;
    this.#sender = { id, key, token: requestToken(key), version: 3 };
  }

  /** @throws SaltworksError for any other answer; the next request then starts with a new connection and `_auth` */
  async ask(kind: number, random: Random): Promise<void> {
    try {
      if (kind < 0.5) await this.#return(random);
      else if (kind < 0.65) await this.#mine();
      else if (kind < 0.75) await this.#readMine();
      else if (kind < 0.85) await this.#event();
      else if (kind < 0.95) await this.#pillar();
      else await this.#signIn();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The master's present value of this minion's mine; 0 without one, because an outage may end before a probe has drawn its first. */
  async minedCount(): Promise<number> {
    const value = await this.#sealed({ cmd: "_mine_get", tgt: this.id, fun: mineFunction, tgt_type: "glob" });
    const own = value instanceof Map ? (value.get(this.id) ?? 0) : undefined;
    return typeof own === "number" ? own : Number.NaN;
  }

  close(): void {
    this.#session?.connection.close();
    this.#session = undefined;
  }

  async #return(random: Random): Promise<void> {
    const jid = jidAt(Date.now(), Math.floor(random() * 1_000));
    const text = "x".repeat(sizes[Math.floor(random() * sizes.length)] ?? 64);
    const load = { cmd: "_return", jid, fun: "state.apply", fun_args: [], return: text, retcode: 0, success: true };
    await this.#sealed(load);
    this.acknowledged.push(jid);
  }

  async #mine(): Promise<void> {
    this.#mineSent += 1;
    const sent = this.#mineSent;
    const value = await this.#sealed({ cmd: "_mine", data: { [mineFunction]: sent } });
    if (value !== true) throw new SaltworksError("REQUEST_REFUSED", "the master did not keep a mine");
    this.mineAcknowledged = sent;
  }

  async #readMine(): Promise<void> {
    await this.#sealed({ cmd: "_mine_get", tgt: "probe-1*", fun: mineFunction, tgt_type: "glob" });
  }

  async #event(): Promise<void> {
    await this.#sealed({
      cmd: "_minion_event",
      tag: `site/${this.id}/noticed`,
      data: { text: "noticed" },
      pretag: null,
    });
  }

  async #pillar(): Promise<void> {
    const { connection, keys, master } = await this.#open();
    const environments = { saltenv: null, pillarenv: null, pillar_override: {} };
    const load = { cmd: "_pillar", id: this.id, grains: { id: this.id }, ...environments, ver: "2" };
    const { frame, nonce } = sealRequest(load, this.#sender, keys);
    openPrivateReply(await connection.request(frame, replyTimeoutMs), nonce, this.#sender, master);
  }

  async #signIn(): Promise<void> {
    this.close();
    await this.#open();
  }

  async #sealed(load: { readonly [key: string]: Encodable }): Promise<Value> {
    const { connection, keys } = await this.#open();
    const { frame, nonce } = sealRequest({ ...load, id: this.id }, this.#sender, keys);
    return openReply(await connection.request(frame, replyTimeoutMs), nonce, this.#sender, keys);
  }

  async #open(): Promise<Session> {
    if (this.#session !== undefined) return this.#session;
    const connection = await Connection.open({ host: "127.0.0.1", port: this.#port, type: "REQ" });
    try {
      const attempt = startAuth(this.id, this.#sender.key, 3, undefined);
      const reply = await connection.request(attempt.request, replyTimeoutMs);
      const outcome = finishAuth(attempt, reply, this.#sender.key, 3, undefined);
      if (outcome.kind !== "accepted") throw new SaltworksError("AUTH_FAILED", `${this.id} is ${outcome.kind}`);
      this.#session = { connection, keys: outcome.keys, master: outcome.master };
      return this.#session;
    } catch (error) {
      connection.close();
      throw error;
    }
  }
}

export class Probes {
  readonly all: readonly Probe[];
  readonly failures: ProbeFailure[] = [];
  readonly latenciesMs: number[] = [];
  #isStopping = false;
  #loops: Promise<void>[] = [];

  constructor(count: number, port: number) {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const key: MinionKey = { privateKey, publicPem: publicKey.export({ type: "spki", format: "pem" }).toString() };
    this.all = Array.from({ length: count }, (_, index) => new Probe(`probe-${index}`, key, port));
  }

  /** @param ratePerSecond of all minions together */
  start(ratePerSecond: number, random: Random): void {
    const pauseMs = (this.all.length * 1_000) / ratePerSecond;
    this.#loops = this.all.map((probe) => this.#loop(probe, pauseMs, random));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#loops);
  }

  close(): void {
    for (const probe of this.all) probe.close();
  }

  async #loop(probe: Probe, pauseMs: number, random: Random): Promise<void> {
    while (!this.#isStopping) {
      await delay(2 * pauseMs * random());
      const kind = random();
      const askedMs = performance.now();
      try {
        await probe.ask(kind, random);
        this.latenciesMs.push(performance.now() - askedMs);
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
        const isSilence = hasCode(error, "REQUEST_TIMEOUT");
        this.failures.push({
          atMs: performance.now(),
          asked: kind.toFixed(2),
          why: isSilence ? "silence" : error.message,
        });
        await delay(retryWaitMs);
      }
    }
  }
}
