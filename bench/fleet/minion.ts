/**
 * One simulated minion: a SUB and a REQ socket of its own, a key of its own, and the life of a real minion from `_auth` to returns.
 * Source: docs/protocol.md sections 1, 3, 6, 8 and 9.
 */
import { setTimeout as wait } from "node:timers/promises";
import { type Context, Subscriber } from "zeromq";
import { hasCode, SaltworksError } from "../../src/errors.ts";
import { matches } from "../../src/target/match.ts";
import { RequestChannel } from "../../src/transport/request-channel.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { grainsOf, isImmediate, type RunningJobs, returnLoad } from "./answers.ts";
import type { FleetCounters } from "./counters.ts";
import type { Gate } from "./gate.ts";
import { finishAuth, type Keys, type Master, requestToken, startAuth } from "./handshake.ts";
import type { MinionKey } from "./keys.ts";
import { drawFrom, type MinionOptions } from "./minion-options.ts";
import type { Publish, PublishReader } from "./publish-reader.ts";
import { openPrivateReply, openReply, type Sender, sealRequest } from "./sealed-request.ts";

/** What the minions of one process have in common. */
export type Surroundings = {
  readonly options: MinionOptions;
  readonly context: Context;
  readonly gate: Gate;
  readonly counters: FleetCounters;
  readonly publishes: PublishReader;
  readonly onAcknowledged: (jid: string, id: string) => void;
  /** Called with unexpected errors. A bad answer of the master is counted instead. */
  readonly onFault: (error: unknown) => void;
};

/** Wait after a failed `_auth`, so that a dead master is not asked in a loop. */
const authRetryWaitMs = 250;
/** Bound of a minion's returns that wait for its socket. */
const requestsWaitingMax = 1_000;
/** Tries of one publish: with the present keys, and after a new `_auth`. */
const publishTries = 2;
/** Salt's `minion_jid_queue_hwm`. */
const jidsKept = 100;

type AuthTry = Keys | "pending" | "failed";

export class SimulatedMinion {
  readonly id: string;
  readonly #around: Surroundings;
  readonly #sender: Sender;
  readonly #facts: { readonly id: string; readonly grains: Map<string, Value>; readonly pillar: Map<Value, Value> };
  readonly #channel: RequestChannel;
  readonly #hadJids: string[] = [];
  readonly #running: RunningJobs = new Map();
  readonly #stop = new AbortController();
  #subscriber: Subscriber | undefined;
  #master: Master | undefined;
  #keys: Keys | undefined;
  #lastSerial = 0;
  #reauth: Promise<Keys> | undefined;

  constructor(id: string, index: number, key: MinionKey, around: Surroundings) {
    const { masterHost, requestPort, version, authTimeoutMs } = around.options;
    this.id = id;
    this.#around = around;
    this.#sender = { id, key, token: requestToken(key), version };
    this.#facts = { id, grains: grainsOf(id, index), pillar: new Map() };
    this.#channel = new RequestChannel({
      endpoint: `tcp://${masterHost}:${requestPort}`,
      timeoutMs: authTimeoutMs,
      tries: 1,
      queueMax: requestsWaitingMax,
      context: around.context,
    });
  }

  /** Resolves when the minion is up; it then works until `close`. */
  async bringUp(): Promise<void> {
    const { gate, counters, options } = this.#around;
    try {
      const keys = await this.#authenticate((tryOnce) => gate.run(tryOnce));
      this.#keys = keys;
      await gate.run(async () => {
        this.#subscribe(options.publishPort ?? keys.publishPort);
        await this.#fetchPillar();
        if (options.hasStartEvents) await this.#announce();
      });
      counters.up += 1;
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  close(): void {
    this.#stop.abort();
    this.#channel.close();
    this.#subscriber?.close();
  }

  /** Tries until accepted. `through` limits how many minions try at once, so that a starting fleet does not storm its master. */
  async #authenticate(
    through: (tryOnce: () => Promise<AuthTry>) => Promise<AuthTry> = (tryOnce) => tryOnce(),
  ): Promise<Keys> {
    for (;;) {
      const outcome = await through(() => this.#tryAuth());
      if (typeof outcome !== "string") return outcome;
      const waitMs = outcome === "pending" ? this.#around.options.acceptanceWaitMs : authRetryWaitMs;
      await wait(waitMs, undefined, { signal: this.#stop.signal });
    }
  }

  async #tryAuth(): Promise<AuthTry> {
    const { counters, options } = this.#around;
    const { key, version } = this.#sender;
    const attempt = startAuth(this.id, key, version, this.#master);
    counters.authsSent += 1;
    let frame: Buffer;
    try {
      frame = await this.#channel.request(attempt.request, { timeoutMs: options.authTimeoutMs });
    } catch (error) {
      if (!hasCode(error, "REQUEST_TIMEOUT")) throw error;
      counters.authsTimedOut += 1;
      return "failed";
    }
    try {
      const outcome = finishAuth(attempt, frame, key, version, this.#master);
      if (outcome.kind === "pending") {
        counters.authsPending += 1;
        return "pending";
      }
      if (outcome.kind === "refused") {
        counters.authsRefused += 1;
        return "failed";
      }
      counters.authsAccepted += 1;
      this.#master = outcome.master;
      return outcome.keys;
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      counters.authsInvalid += 1;
      return "failed";
    }
  }

  /** The first request that finds the keys stale authenticates. The others wait for it. */
  #authenticateAgain(): Promise<Keys> {
    this.#reauth ??= this.#renewKeys().finally(() => {
      this.#reauth = undefined;
    });
    return this.#reauth;
  }

  async #renewKeys(): Promise<Keys> {
    this.#around.counters.reauths += 1;
    const former = this.#keys;
    const keys = await this.#authenticate();
    if (former?.aes.text !== keys.aes.text) this.#lastSerial = 0;
    this.#keys = keys;
    return keys;
  }

  async #fetchPillar(): Promise<void> {
    const load = {
      id: this.id,
      grains: this.#facts.grains,
      saltenv: null,
      pillarenv: null,
      pillar_override: {},
      extra_minion_data: {},
      ver: "2",
      cmd: "_pillar",
    };
    await this.#exchange(load, (frame, nonce) => {
      if (this.#master === undefined) throw new SaltworksError("AUTH_FAILED", "no master key");
      const pillar = openPrivateReply(frame, nonce, this.#sender, this.#master);
      if (!(pillar instanceof Map)) throw new SaltworksError("WIRE_MALFORMED", "a pillar that is not a map");
      this.#facts.pillar.clear();
      for (const [name, value] of pillar) this.#facts.pillar.set(name, value);
    });
    this.#around.counters.pillars += 1;
  }

  async #announce(): Promise<void> {
    const data = `Minion ${this.id} started at ${new Date().toUTCString()}`;
    const tok = this.#sender.version < 3 ? this.#sender.token : undefined;
    for (const tag of ["minion_start", `salt/minion/${this.id}/start`]) {
      await this.#exchangeSealed({ id: this.id, cmd: "_minion_event", pretag: null, tok, data, tag });
      this.#around.counters.startEvents += 1;
    }
  }

  #exchangeSealed(load: { readonly [key: string]: Encodable }): Promise<void> {
    return this.#exchange(load, (frame, nonce, keys) => {
      openReply(frame, nonce, this.#sender, keys);
    });
  }

  /** Repeats the request until a reply opens, for requests that a minion needs to start. */
  async #exchange(
    load: { readonly [key: string]: Encodable },
    open: (frame: Buffer, nonce: string, keys: Keys) => void,
  ): Promise<void> {
    const { options, counters } = this.#around;
    for (;;) {
      for (let tried = 0; tried < options.requestTries; tried += 1) {
        const outcome = await this.#attempt(load, options.requestTimeoutMs, open);
        if (outcome === "done") return;
        if (outcome === "timeout") counters.requestsTimedOut += 1;
        else if (tried > 0) await wait(authRetryWaitMs, undefined, { signal: this.#stop.signal });
      }
    }
  }

  /** One request and its reply. A reply that does not open makes a minion authenticate again. */
  async #attempt(
    load: { readonly [key: string]: Encodable },
    timeoutMs: number,
    open: (frame: Buffer, nonce: string, keys: Keys) => void,
  ): Promise<"done" | "timeout" | "unreadable"> {
    const keys = (await this.#reauth) ?? this.#keys;
    if (keys === undefined) throw new SaltworksError("AUTH_FAILED", "not authenticated");
    const { frame, nonce } = sealRequest(load, this.#sender, keys);
    if (load.cmd === "_return") this.#around.counters.returnBytes += frame.length;
    let reply: Buffer;
    try {
      reply = await this.#channel.request(frame, { timeoutMs });
    } catch (error) {
      if (hasCode(error, "REQUEST_TIMEOUT")) return "timeout";
      throw error;
    }
    try {
      open(reply, nonce, keys);
      return "done";
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      this.#around.counters.repliesUnreadable += 1;
      if (this.#keys === keys) await this.#authenticateAgain();
      return "unreadable";
    }
  }

  #subscribe(publishPort: number): void {
    const { options, context } = this.#around;
    const subscriber = new Subscriber({
      context,
      linger: 0,
      reconnectInterval: drawFrom(options.reconnectMs),
      reconnectMaxInterval: options.reconnectMs[1],
      tcpKeepalive: 1,
      tcpKeepaliveIdle: 300,
    });
    subscriber.connect(`tcp://${options.masterHost}:${publishPort}`);
    subscriber.subscribe();
    this.#subscriber = subscriber;
    this.#follow(subscriber).catch(this.#unlessClosed);
  }

  async #follow(subscriber: Subscriber): Promise<void> {
    for await (const frames of subscriber) {
      this.#around.counters.publishesReceived += 1;
      const frame = frames.at(-1);
      if (frame === undefined) continue;
      const publish = await this.#read(frame);
      if (publish === undefined) continue;
      if (publish.serial > 0 && publish.serial <= this.#lastSerial) {
        this.#around.counters.publishesReplayed += 1;
        continue;
      }
      this.#lastSerial = publish.serial;
      if (matches(publish.target, this.#facts)) this.#work(publish).catch(this.#unlessClosed);
    }
  }

  /** A publish under another key means that the master has a new one: the minion fetches it and opens the same publish again. */
  async #read(frame: Buffer): Promise<Publish | undefined> {
    for (let tried = 0; tried < publishTries; tried += 1) {
      const keys = (await this.#reauth) ?? this.#keys;
      if (keys === undefined || this.#master === undefined) return undefined;
      try {
        return this.#around.publishes.read(frame, keys.aes, this.#master);
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
        if (error.code !== "CRYPTO_BAD_MAC") break;
        if (tried + 1 < publishTries && this.#keys === keys) await this.#authenticateAgain();
      }
    }
    this.#around.counters.publishesUnreadable += 1;
    return undefined;
  }

  async #work(job: Publish): Promise<void> {
    const { options, counters } = this.#around;
    counters.jobsMatched += 1;
    if (this.#hadJids.includes(job.jid)) {
      counters.jobsRepeated += 1;
      return;
    }
    this.#hadJids.push(job.jid);
    if (this.#hadJids.length > jidsKept) this.#hadJids.shift();
    if (job.fun === "saltutil.find_job") counters.findJobs += 1;
    const delayMs = typeof job.fun === "string" && isImmediate(job.fun) ? 0 : drawFrom(options.returnDelayMs);
    if (delayMs > 0) {
      this.#running.set(job.jid, job);
      await wait(delayMs, undefined, { signal: this.#stop.signal });
      this.#running.delete(job.jid);
    }
    await this.#return(job);
  }

  async #return(job: Publish): Promise<void> {
    const { options, counters, onAcknowledged } = this.#around;
    const load = returnLoad(this.id, job, this.#running, options.returnBytes, options.retcode);
    for (let tried = 0; tried < options.returnTries; tried += 1) {
      counters.returnsSent += 1;
      const outcome = await this.#attempt(load, drawFrom(options.returnTimeoutMs), (frame, nonce, keys) => {
        openReply(frame, nonce, this.#sender, keys);
      });
      if (outcome === "done") {
        counters.returnsAcknowledged += 1;
        onAcknowledged(job.jid, this.id);
        return;
      }
      if (outcome === "timeout") counters.requestsTimedOut += 1;
      if (tried + 1 < options.returnTries) counters.returnsRepeated += 1;
    }
    counters.returnsLost += 1;
  }

  /** `close` aborts the work under way, which is not a fault. */
  readonly #unlessClosed = (error: unknown): void => {
    if (!this.#stop.signal.aborted) this.#around.onFault(error);
  };
}
