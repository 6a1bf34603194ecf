/**
 * Runs jobs in child processes, so that each can be killed. A process takes one job after the other. The pool keeps one process
 * ready, starts more as jobs arrive, and ends idle ones.
 */

import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import {
  jobProcessEndMs,
  jobProcessesIdleMax,
  jobProcessStartsMax,
  jobProcessStartTriesMax,
  minionJobQueueMax,
} from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { encode } from "../../wire/msgpack.ts";
import { asValue, type Value, type ValueMap } from "../../wire/values.ts";
import type { Host, MinionFacts } from "../functions/host.ts";
import type { JobRecords } from "../functions/job-records.ts";
import { failed, membersOf, type ScheduledCall, unhandledText } from "../functions/scheduled-return.ts";
import type { Environment } from "../modules/machine/environment.ts";
import type { ToJobProcess } from "./messages.ts";
import { JobProcess } from "./process-handle.ts";

/** One task for a process. `onEnd` is called if the process ends without an answer. */
type Work = {
  readonly name: string;
  readonly begin: (process: JobProcess, pid: number) => Promise<void>;
  readonly onReturned: (result: Value, bytes: number) => Promise<void>;
  readonly onEnd: (how: Ending) => Promise<void>;
};
type Ending =
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals }
  | { readonly kind: "broken"; readonly text: string };

/** A job as the pool takes it. `record`: what `saltutil.running` shows; undefined for a job that is not listed. */
type Task = {
  readonly jid: string;
  readonly record: ValueMap | undefined;
  readonly message: ToJobProcess;
  readonly onReturn: JobPoolOptions["onReturn"];
  readonly onFailure: (text: string) => void;
  readonly onKilled: () => void;
};

type Slot = {
  readonly process: JobProcess;
  work: Work | undefined;
  /** Runs `onReturned` once the return is there. Returners may still run. */
  returned: Promise<void> | undefined;
  /** Its work has ended, and `onReturned` or `onEnd` runs. */
  isSettling: boolean;
  isReady: boolean;
  isRetired: boolean;
};

export type JobPoolOptions = {
  readonly config: MinionConfig;
  readonly environment: Environment;
  readonly extrasUrl?: string | undefined;
  readonly host: Host;
  readonly records: JobRecords;
  readonly log: Logger;
  /** The members of a job's return and their size; not called for a killed job. */
  readonly onReturn: (result: ValueMap, bytes: number) => void;
};

/** How long a job waits for a busy process before the pool starts another. A start takes some 100 ms. */
const startDelayMs = 20;

const entryPath = fileURLToPath(new URL("./process.js", import.meta.url));

export class JobPool {
  readonly #options: JobPoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #queue: Work[] = [];
  #facts: { readonly grains: Uint8Array; readonly pillar: Uint8Array; readonly version: number };
  #failedStarts = 0;
  #startTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: JobPoolOptions) {
    this.#options = options;
    const nothing = encode(new Map(), "bin");
    this.#facts = { grains: nothing, pillar: nothing, version: 0 };
  }

  /** Starts a process before the first job, if none runs. */
  warm(): void {
    if (this.#slots.size === 0 && !this.#isClosed) this.#start();
  }

  /** Functions see these facts from the next job on. */
  setFacts(facts: MinionFacts): void {
    const version = this.#facts.version + 1;
    this.#facts = { grains: encode(facts.grains, "bin"), pillar: encode(facts.pillar, "bin"), version };
  }

  /** Queues a job. `load`: the publish load without its serial number. */
  submit(load: ValueMap): void {
    const { onReturn } = this.#options;
    this.#take({
      jid: String(load.get("jid")),
      record: load,
      message: { kind: "job", load: encode(load, "bin") },
      onReturn,
      onFailure: (text) => onReturn(errorReturn(load, text), text.length),
      onKilled: () => undefined,
    });
  }

  /**
   * Runs a scheduled job. `isListed`: `saltutil.running` shows it, and it can be signalled.
   *
   * @returns the members of its return; undefined if it was killed
   */
  runScheduled(call: ScheduledCall, isListed: boolean): Promise<ValueMap | undefined> {
    const { record } = call;
    return new Promise((resolve) => {
      const fun = strOf(record.get("fun") ?? null);
      this.#take({
        jid: String(record.get("jid")),
        record: isListed ? record : undefined,
        message: { kind: "scheduled", call: encode(call, "bin") },
        onReturn: resolve,
        onFailure: (text) => {
          this.#options.log.error({ job: record.get("schedule") }, text);
          resolve(asValue(failed(membersOf(record), unhandledText(fun))) as ValueMap);
        },
        onKilled: () => resolve(undefined),
      });
    });
  }

  #take({ jid, record, message, onReturn, onFailure, onKilled }: Task): void {
    const { records, log } = this.#options;
    if (this.#queue.length >= minionJobQueueMax) {
      log.error({ jid, max: minionJobQueueMax }, "the queue of jobs is full; this job is refused");
      onFailure(`ERROR: ${minionJobQueueMax} jobs wait on this minion already`);
      return;
    }
    this.#add({
      name: jid,
      begin: async (process, pid) => {
        if (record !== undefined) await records.write(jid, record, pid);
        process.send(message);
      },
      onReturned: async (result, bytes) => {
        await records.remove(jid);
        if (result instanceof Map) onReturn(result, bytes);
      },
      onEnd: async (how) => {
        await records.remove(jid);
        if (how.kind === "broken") onFailure(`The minion function caused an exception: ${how.text}`);
        else {
          log.info({ jid, signal: how.signal }, "a job was killed; it does not return");
          onKilled();
        }
      },
    });
  }

  /** Runs later jobs in new processes, which load their modules again. */
  renew(): void {
    for (const slot of this.#slots) this.#retire(slot);
    this.#fill();
    this.warm();
  }

  /** Ends every process and its job. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue.length = 0;
    clearTimeout(this.#startTimer);
    const ended = Array.from(this.#slots, (slot) => {
      slot.process.release();
      slot.process.kill("SIGTERM");
      return slot.process.ended;
    });
    const timer = setTimeout(() => {
      for (const slot of this.#slots) slot.process.kill("SIGKILL");
    }, jobProcessEndMs);
    await Promise.all(ended);
    clearTimeout(timer);
  }

  #add(work: Work): void {
    if (this.#isClosed) return;
    this.#queue.push(work);
    this.#fill();
  }

  /** Gives queued work to idle processes. Starts more processes if work is left. */
  #fill(): void {
    for (const slot of this.#slots) {
      if (this.#queue.length === 0) return;
      if (slot.isReady && slot.work === undefined && !slot.isRetired) this.#give(slot);
    }
    // Gives busy processes `startDelayMs` to take the next job: a quick job ends before another process has started.
    if (this.#queue.length > 0)
      this.#startTimer ??= setTimeout(() => this.#startMore(), this.#hasReady ? startDelayMs : 0);
  }

  get processCount(): number {
    return this.#slots.size;
  }

  get #hasReady(): boolean {
    return Array.from(this.#slots).some((slot) => slot.isReady && !slot.isRetired);
  }

  #startMore(): void {
    this.#startTimer = undefined;
    if (this.#isClosed) return;
    const starting = Array.from(this.#slots).filter((slot) => !slot.isReady).length;
    const countMax = this.#options.config.process_count_max;
    const room = countMax > 0 ? Math.max(0, countMax - this.#slots.size) : Number.POSITIVE_INFINITY;
    const wanted = Math.min(this.#queue.length - starting, jobProcessStartsMax - starting, room);
    for (let count = 0; count < wanted; count += 1) this.#start();
  }

  #start(): void {
    const { config, environment, extrasUrl, host, log } = this.#options;
    const slot: Slot = {
      process: new JobProcess({
        entry: entryPath,
        config,
        environment,
        extrasUrl,
        host,
        onReady: () => {
          slot.isReady = true;
          this.#failedStarts = 0;
          this.#next(slot);
        },
        onReturned: (result, bytes) => {
          slot.returned = slot.work?.onReturned(result, bytes);
        },
        onDone: () => this.#settle(slot, async () => await slot.returned),
        onExit: (code, signal) => this.#onExit(slot, code, signal),
        onLog: (level, text) => log[level]({ job: slot.work?.name }, text),
      }),
      work: undefined,
      returned: undefined,
      isSettling: false,
      isReady: false,
      isRetired: false,
    };
    this.#slots.add(slot);
  }

  #give(slot: Slot): void {
    const work = this.#queue.shift();
    const { pid } = slot.process;
    if (work === undefined || pid === undefined) return;
    slot.work = work;
    if (slot.process.factsVersion !== this.#facts.version) {
      const { grains, pillar, version } = this.#facts;
      slot.process.send({ kind: "facts", grains, pillar });
      slot.process.factsVersion = version;
    }
    work.begin(slot.process, pid).catch((error: unknown) => {
      this.#options.log.error({ err: error, job: work.name }, "the minion failed to start a job");
      slot.process.kill("SIGKILL");
    });
  }

  /** Removes the record before the process takes another job, so that a signal for this job does not reach the next one. */
  #settle(slot: Slot, tell: (work: Work) => Promise<void>): void {
    const { work } = slot;
    if (work === undefined || slot.isSettling) return;
    slot.isSettling = true;
    tell(work)
      .catch((error: unknown) =>
        this.#options.log.error({ err: error, job: work.name }, "the minion failed to finish a job"),
      )
      .finally(() => {
        slot.work = undefined;
        slot.returned = undefined;
        slot.isSettling = false;
        this.#next(slot);
      });
  }

  #next(slot: Slot): void {
    if (slot.isRetired) slot.process.release();
    this.#fill();
    if (slot.isRetired || !this.#slots.has(slot)) return;
    const idle = Array.from(this.#slots).filter(
      (other) => other.isReady && !other.isRetired && other.work === undefined,
    );
    if (idle.length > jobProcessesIdleMax && slot.work === undefined) this.#retire(slot);
  }

  #retire(slot: Slot): void {
    slot.isRetired = true;
    if (slot.isReady && slot.work === undefined) slot.process.release();
  }

  #onExit(slot: Slot, code: number | null, signal: NodeJS.Signals | null): void {
    this.#slots.delete(slot);
    if (this.#isClosed) return;
    const text = `the job's process ended with ${signal ?? `code ${code}`}`;
    const { returned } = slot;
    if (returned !== undefined) {
      this.#options.log.error({ job: slot.work?.name }, `returners of a job did not end: ${text}`);
      this.#settle(slot, async () => await returned);
    } else if (slot.work !== undefined) {
      this.#settle(slot, (work) => work.onEnd(signal === null ? { kind: "broken", text } : { kind: "killed", signal }));
    } else if (!slot.isReady) {
      this.#onFailedStart(text);
    } else {
      this.#fill();
    }
  }

  #onFailedStart(text: string): void {
    this.#failedStarts += 1;
    this.#options.log.error({ failedStarts: this.#failedStarts }, `a job process did not start: ${text}`);
    if (this.#failedStarts >= jobProcessStartTriesMax) {
      const work = this.#queue.shift();
      work?.onEnd({ kind: "broken", text }).catch((error: unknown) => {
        this.#options.log.error({ err: error, job: work.name }, "the minion failed to finish a job");
      });
    }
    this.#fill();
  }
}

function errorReturn(load: ValueMap, text: string): ValueMap {
  const members: [Value, Value][] = [
    ["success", false],
    ["return", text],
    ["out", "nested"],
    ["retcode", 1],
  ];
  for (const [from, to] of [
    ["jid", "jid"],
    ["fun", "fun"],
    ["arg", "fun_args"],
    ["user", "user"],
  ] as const) {
    const value = load.get(from);
    if (value !== undefined) members.push([to, value]);
  }
  return new Map(members);
}
