/**
 * Minions of a storm that answer publishes after a delay, over the connections they share, and check every reply.
 * Cheaper than `fleet/minion.ts`, because they use no ZeroMQ sockets and never authenticate again.
 */

import { matches } from "../../../src/target/match.ts";
import type { Value } from "../../../src/wire/values.ts";
import { type Distribution, draw, parseDistribution } from "../../load/distribution.ts";
import { LatencyHistogram } from "../../load/histogram.ts";
import { type Random, seededRandom } from "../../load/random.ts";
import { grainsOf, isImmediate, type RunningJobs, returnLoad } from "../answers.ts";
import { type Publish, PublishReader } from "../publish-reader.ts";
import { openReply, sealRequest } from "../sealed-request.ts";
import type { Line } from "./lane.ts";
import type { Respond, ResponderCounts } from "./messages.ts";
import type { StormMinion } from "./storm-minion.ts";
import { opened } from "./work.ts";
import { requestBytes } from "./zmtp.ts";

type Living = {
  readonly minion: StormMinion;
  readonly line: number;
  readonly facts: { readonly id: string; readonly grains: Map<string, Value>; readonly pillar: Map<Value, Value> };
  readonly running: RunningJobs;
  lastSerial: number;
};
type Errand = { readonly living: Living; readonly job: Publish; readonly cameMs: number };
type Out = { readonly errand: Errand; readonly frame: Buffer; readonly nonce: string; sentMs: number; tries: number };

const lookEveryMs = 250;

export class Responder {
  readonly #options: Respond;
  readonly #lines: readonly Line[];
  readonly #living: readonly Living[];
  readonly #reader = new PublishReader(() => {});
  readonly #waiting: Errand[][];
  readonly #out: (Out | undefined)[];
  readonly #returnBytes: Distribution;
  readonly #delayMs: Distribution;
  readonly #random: Random;
  readonly #timer: NodeJS.Timeout;
  #histogram = new LatencyHistogram();
  #counts = emptyCounts();

  constructor(minions: readonly StormMinion[], firstIndex: number, lines: readonly Line[], options: Respond) {
    this.#options = options;
    this.#lines = lines;
    this.#living = minions.map((minion, offset) => ({
      minion,
      line: offset % lines.length,
      facts: { id: minion.sender.id, grains: grainsOf(minion.sender.id, firstIndex + offset), pillar: new Map() },
      running: new Map(),
      lastSerial: 0,
    }));
    this.#waiting = lines.map(() => []);
    this.#out = lines.map(() => undefined);
    this.#returnBytes = parseDistribution(options.returnBytes);
    this.#delayMs = parseDistribution(options.delayMs);
    this.#random = seededRandom(options.seed);
    for (const line of lines.keys()) this.#listen(line);
    this.#timer = setInterval(() => this.#giveUpSilent(), lookEveryMs);
  }

  get counts(): ResponderCounts {
    return this.#counts;
  }

  reset(): void {
    this.#counts = emptyCounts();
    this.#histogram = new LatencyHistogram();
  }

  histogram(): string {
    return this.#histogram.encode();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A publish came on one subscription, which every `step`-th minion from `first` on shares. */
  onPublish(payload: Buffer, first: number, step: number): void {
    const cameMs = performance.now();
    // Copied: the reader keeps the payload, which lies in the connection's buffer.
    const frame = Buffer.from(payload);
    for (let offset = first; offset < this.#living.length; offset += step) {
      const living = this.#living[offset];
      const master = living?.minion.master;
      if (living === undefined || master === undefined) continue;
      this.#counts.publishes += 1;
      const publish = opened(() => this.#reader.read(frame, living.minion.keys.aes, master));
      if (publish !== undefined) this.#consider(living, publish, cameMs);
    }
  }

  #consider(living: Living, job: Publish, cameMs: number): void {
    if (job.serial > 0 && job.serial <= living.lastSerial) return;
    living.lastSerial = job.serial;
    if (!matches(job.target, living.facts)) return;
    this.#counts.matched += 1;
    const errand = { living, job, cameMs };
    const delayMs = typeof job.fun === "string" && isImmediate(job.fun) ? 0 : draw(this.#delayMs, this.#random);
    if (delayMs === 0) {
      this.#queue(errand);
      return;
    }
    living.running.set(job.jid, job);
    setTimeout(() => {
      living.running.delete(job.jid);
      this.#queue(errand);
    }, delayMs).unref();
  }

  #queue(errand: Errand): void {
    const { line } = errand.living;
    if (this.#out[line] === undefined) this.#send(line, errand);
    else this.#waiting[line]?.push(errand);
  }

  #send(line: number, errand: Errand): void {
    const { living, job } = errand;
    const bytes = draw(this.#returnBytes, this.#random);
    const load = returnLoad(living.minion.sender.id, job, living.running, [bytes, bytes]);
    const { frame, nonce } = sealRequest(load, living.minion.sender, living.minion.keys);
    const out = { errand, frame: requestBytes(frame), nonce, sentMs: performance.now(), tries: 1 };
    this.#out[line] = out;
    this.#counts.sent += 1;
    this.#lines[line]?.connection.send(out.frame);
  }

  #listen(line: number): void {
    const { connection } = this.#lines[line] ?? {};
    if (connection === undefined) return;
    connection.onMessage = (payload) => this.#take(line, payload);
    connection.onClose = () => this.#sendAgain(line);
  }

  #take(line: number, payload: Buffer): void {
    const out = this.#out[line];
    if (out === undefined) return;
    const { minion } = out.errand.living;
    if (opened(() => openReply(payload, out.nonce, minion.sender, minion.keys)) === null) {
      this.#counts.acknowledged += 1;
      this.#counts.lastReplyAtMs = Date.now();
      this.#histogram.recordMs(performance.now() - out.errand.cameMs);
    } else this.#counts.wrong += 1;
    this.#next(line);
  }

  #next(line: number): void {
    this.#out[line] = undefined;
    const errand = this.#waiting[line]?.shift();
    if (errand !== undefined) this.#send(line, errand);
  }

  #giveUpSilent(): void {
    const oldestMs = performance.now() - this.#options.timeoutMs;
    for (const [line, out] of this.#out.entries())
      if (out !== undefined && out.sentMs < oldestMs) this.#sendAgain(line);
  }

  /** As a real minion does: sends the same return again, on a new connection. */
  #sendAgain(line: number): void {
    const out = this.#out[line];
    // Skips it while it connects.
    if (out !== undefined) out.sentMs = Number.POSITIVE_INFINITY;
    this.#lines[line]?.reopen().then(
      () => {
        this.#listen(line);
        if (out === undefined) return;
        if (out.tries >= this.#options.tries) return this.#fail(line, "timedOut");
        out.tries += 1;
        out.sentMs = performance.now();
        this.#counts.repeated += 1;
        this.#lines[line]?.connection.send(out.frame);
      },
      () => this.#fail(line, "failed"),
    );
  }

  #fail(line: number, how: "timedOut" | "failed"): void {
    if (this.#out[line] !== undefined) this.#counts[how] += 1;
    this.#next(line);
  }
}

function emptyCounts() {
  return {
    publishes: 0,
    matched: 0,
    sent: 0,
    acknowledged: 0,
    repeated: 0,
    failed: 0,
    timedOut: 0,
    wrong: 0,
    lastReplyAtMs: 0,
  };
}
