/** Honest minions: proven ones that send requests at a steady rate, and one with a new connection for each large return. Latency counts from the planned time of each request. */
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { finishAuth, requestToken, startAuth } from "../../bench/fleet/handshake.ts";
import type { MinionKey } from "../../bench/fleet/keys.ts";
import { openReply, type Sender, sealRequest } from "../../bench/fleet/sealed-request.ts";
import { Connection } from "../../bench/fleet/storm/connection.ts";
import { SaltworksError } from "../../src/errors.ts";
import { jidAt } from "../../src/wire/jid.ts";

type Keys = Extract<ReturnType<typeof finishAuth>, { kind: "accepted" }>["keys"];
type Minion = { readonly sender: Sender; readonly keys: Keys; readonly connection: Connection; isBusy: boolean };

const minionCount = 16;
const requestsPerSecond = 200;
const replyTimeoutMs = 30_000;

export class HonestLoad {
  /** Answers that did not come or did not open. */
  lost = 0;
  returns = 0;
  readonly #minions: readonly Minion[];

  private constructor(minions: readonly Minion[]) {
    this.#minions = minions;
  }

  static async open(port: number, pkiDirectory: string): Promise<HonestLoad> {
    const key = newKey();
    const minions: Minion[] = [];
    for (let index = 0; index < minionCount; index += 1) {
      minions.push(await signIn(`honest-${index}`, key, port, pkiDirectory));
    }
    return new HonestLoad(minions);
  }

  /** Sends requests for this time. @returns milliseconds of each answer from the planned time of its request */
  async run(durationMs: number): Promise<number[]> {
    const startMs = performance.now();
    const count = Math.round((durationMs / 1_000) * requestsPerSecond);
    const latencies: number[] = [];
    const asked: Promise<void>[] = [];
    for (let at = 0; at < count; at += 1) {
      const dueMs = startMs + (at * 1_000) / requestsPerSecond;
      const aheadMs = dueMs - performance.now();
      if (aheadMs > 1) await delay(aheadMs);
      let minion = this.#minions.find(({ isBusy }) => !isBusy);
      for (; minion === undefined; minion = this.#minions.find(({ isBusy }) => !isBusy)) await delay(1);
      asked.push(this.#return(minion).then(() => void latencies.push(performance.now() - dueMs)));
    }
    await Promise.all(asked);
    return latencies;
  }

  async #return(minion: Minion): Promise<void> {
    minion.isBusy = true;
    const { sender, keys, connection } = minion;
    this.returns += 1;
    const jid = jidAt(Date.now(), this.returns % 1_000);
    const { frame, nonce } = sealRequest(returnOf(sender.id, jid, true), sender, keys);
    try {
      openReply(await connection.request(frame, replyTimeoutMs), nonce, sender, keys);
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      this.lost += 1;
    }
    minion.isBusy = false;
  }

  close(): void {
    for (const { connection } of this.#minions) connection.close();
  }
}

/** A minion that opens a new connection for each return, as stock minions do. */
export class FreshReturns {
  readonly #minion: Minion;
  readonly #port: number;

  private constructor(minion: Minion, port: number) {
    this.#minion = minion;
    this.#port = port;
  }

  static async open(id: string, port: number, pkiDirectory: string): Promise<FreshReturns> {
    const minion = await signIn(id, newKey(), port, pkiDirectory);
    minion.connection.close();
    return new FreshReturns(minion, port);
  }

  /** Returns this many bytes. @throws SaltworksError if the master refuses it */
  async send(count: number, bytes: number): Promise<void> {
    const { sender, keys } = this.#minion;
    const connection = await Connection.open({ host: "127.0.0.1", port: this.#port, type: "REQ" });
    try {
      const load = returnOf(sender.id, jidAt(Date.now(), count % 1_000), "x".repeat(bytes));
      const { frame, nonce } = sealRequest(load, sender, keys);
      openReply(await connection.request(frame, replyTimeoutMs), nonce, sender, keys);
    } finally {
      connection.close();
    }
  }
}

function newKey(): MinionKey {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { privateKey, publicPem: publicKey.export({ type: "spki", format: "pem" }).toString() };
}

/** Accepts the minion's key and authenticates. @throws SaltworksError AUTH_FAILED */
async function signIn(id: string, key: MinionKey, port: number, pkiDirectory: string): Promise<Minion> {
  writeFileSync(join(pkiDirectory, "minions", id), key.publicPem);
  const connection = await Connection.open({ host: "127.0.0.1", port, type: "REQ" });
  const attempt = startAuth(id, key, 3, undefined);
  const outcome = finishAuth(attempt, await connection.request(attempt.request, replyTimeoutMs), key, 3, undefined);
  if (outcome.kind !== "accepted") throw new SaltworksError("AUTH_FAILED", `${id} is ${outcome.kind}`);
  const sender: Sender = { id, key, token: requestToken(key), version: 3 };
  return { sender, keys: outcome.keys, connection, isBusy: false };
}

function returnOf(id: string, jid: string, value: string | boolean) {
  return { cmd: "_return", id, jid, fun: "test.ping", fun_args: [], return: value, retcode: 0, success: true };
}
