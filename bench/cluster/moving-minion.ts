/** A minion of the cluster's benches: it answers each job once, and moves to the next member when its own is gone, with the session that it has. */
import { setTimeout as pause } from "node:timers/promises";
import { SaltworksError } from "../../src/errors.ts";
import { returnLoad } from "../fleet/answers.ts";
import type { MinionKey } from "../fleet/keys.ts";
import { type Publish, PublishReader } from "../fleet/publish-reader.ts";
import { openReply, sealRequest } from "../fleet/sealed-request.ts";
import { Connection } from "../fleet/storm/connection.ts";
import { type StormMinion, signIn } from "../fleet/storm/storm-minion.ts";
import { opened } from "../fleet/storm/work.ts";
import { requestBytes } from "../fleet/storm/zmtp.ts";

export type Address = { readonly requestPort: number; readonly publishPort: number };

export type MovingOptions = {
  readonly id: string;
  readonly key: MinionKey;
  /** Of the members, which it tries in this order, from `at` on. */
  readonly members: readonly Address[];
  readonly at: number;
  /** `tookMs`: from the arrival of the publish to the reply. */
  readonly onAcknowledged: (minion: MovingMinion, jid: string, tookMs: number) => void;
};

/** As Salt's minions: `recon_default` is a second, and a return without an answer is sent again after some seconds. */
const reconnectMs = 1_000;
const replyTimeoutMs = 15_000;
const retryMs = 1_000;
const host = "127.0.0.1";
const returnBytes = [64, 64] as const;

/** A publish is opened once for all minions of the process. */
const reader = new PublishReader(() => {});

export class MovingMinion {
  readonly id: string;
  /** When it was connected to another member, by `performance.now()`; undefined if it has not moved. */
  movedMs: number | undefined;
  /** Jobs that it has heard of, which it answers in any case. A bench publishes some tens. */
  readonly heard = new Set<string>();
  readonly #options: MovingOptions;
  readonly #jobs: { readonly job: Publish; readonly cameMs: number }[] = [];
  #self: StormMinion | undefined;
  #requests: Connection | undefined;
  #publishes: Connection | undefined;
  #lastSerial = 0;
  #isAnswering = false;
  #moving: Promise<void> | undefined;
  #isClosed = false;
  /** Ends the wait for a reply, because the connection is gone. */
  #giveUp: () => void = () => {};

  private constructor(options: MovingOptions) {
    this.#options = options;
    this.id = options.id;
    this.at = options.at;
  }

  /** The member that it is connected to. */
  at: number;

  /** @throws SaltworksError AUTH_FAILED if its key is not accepted at once */
  static async open(options: MovingOptions): Promise<MovingMinion> {
    const minion = new MovingMinion(options);
    await minion.#connect();
    if (minion.#requests === undefined) throw new Error("not connected");
    minion.#self = await signIn(minion.#requests, options.id, options.key, 3);
    if (minion.#self === undefined) throw new SaltworksError("AUTH_FAILED", `${options.id}: its key is pending`);
    return minion;
  }

  close(): void {
    this.#isClosed = true;
    this.#requests?.close();
    this.#publishes?.close();
  }

  async #connect(): Promise<void> {
    const { members } = this.#options;
    const member = members[this.at % members.length];
    if (member === undefined) throw new RangeError("no members");
    const requests = await Connection.open({ host, port: member.requestPort, type: "REQ" });
    const publishes = await Connection.open({ host, port: member.publishPort, type: "SUB" });
    for (const connection of [requests, publishes]) connection.onClose = () => void this.#move();
    publishes.onMessage = (payload) => this.#hear(payload);
    this.#requests = requests;
    this.#publishes = publishes;
  }

  #move(): Promise<void> {
    this.#moving ??= this.#untilMoved().finally(() => {
      this.#moving = undefined;
    });
    return this.#moving;
  }

  async #untilMoved(): Promise<void> {
    this.#requests?.close();
    this.#publishes?.close();
    this.#giveUp();
    while (!this.#isClosed) {
      await pause(reconnectMs);
      this.at = (this.at + 1) % this.#options.members.length;
      try {
        await this.#connect();
        this.movedMs = performance.now();
        return;
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
      }
    }
  }

  #hear(payload: Buffer): void {
    const master = this.#self?.master;
    if (this.#self === undefined || master === undefined) return;
    const aes = this.#self.keys.aes;
    const job = opened(() => reader.read(Buffer.from(payload), aes, master));
    if (job === undefined || job.fun !== "test.ping" || job.serial <= this.#lastSerial) return;
    this.#lastSerial = job.serial;
    this.heard.add(job.jid);
    this.#jobs.push({ job, cameMs: performance.now() });
    if (!this.#isAnswering) void this.#answerAll();
  }

  async #answerAll(): Promise<void> {
    this.#isAnswering = true;
    try {
      for (let next = this.#jobs.shift(); next !== undefined && !this.#isClosed; next = this.#jobs.shift()) {
        await this.#answer(next.job);
        if (!this.#isClosed) this.#options.onAcknowledged(this, next.job.jid, performance.now() - next.cameMs);
      }
    } finally {
      this.#isAnswering = false;
    }
  }

  /** Until a member acknowledges it, as Salt's minions do while their tries last. */
  async #answer(job: Publish): Promise<void> {
    const self = this.#self;
    if (self === undefined) return;
    const load = returnLoad(this.id, job, new Map(), returnBytes);
    while (!this.#isClosed) {
      await this.#moving;
      const { frame, nonce } = sealRequest(load, self.sender, self.keys);
      const reply = await this.#ask(frame);
      if (reply !== undefined && opened(() => openReply(reply, nonce, self.sender, self.keys)) === null) return;
      // After a silence the connection may still get the late reply.
      if (reply === undefined) await (this.#moving ?? this.#move());
      else await pause(retryMs);
    }
  }

  /** Undefined if the connection ends, or nothing comes. */
  #ask(frame: Uint8Array): Promise<Buffer | undefined> {
    const connection = this.#requests;
    if (connection === undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const end = (reply: Buffer | undefined) => {
        clearTimeout(timer);
        resolve(reply);
      };
      const timer = setTimeout(() => end(undefined), replyTimeoutMs);
      connection.onMessage = (reply) => end(Buffer.from(reply));
      this.#giveUp = () => end(undefined);
      connection.send(requestBytes(frame));
    });
  }
}
