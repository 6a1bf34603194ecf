/**
 * The sidecar's Python processes. They start at need, stay while they are used, and are replaced when they hang or die. Runner and wheel functions have
 * as many of their own, because they may take minutes.
 */
import { SaltworksError } from "../errors.ts";
import { sidecarIdleMs, sidecarRestMs, sidecarWaitingMax } from "../limits.ts";
import {
  isCall,
  type OnSidecarEvent,
  type SidecarAnswer,
  type SidecarRequest,
  type SidecarSettings,
} from "./contract.ts";
import { PythonProcess } from "./python-process.ts";

export type SidecarCounters = Readonly<
  Record<"requests" | "failed" | "timeouts" | "refused" | "started" | "lost", number>
>;

type Waiting = {
  readonly request: SidecarRequest;
  readonly timeoutMs: number;
  readonly onEvent: OnSidecarEvent | undefined;
  readonly askedMs: number;
  /** Rejects a question that no process has taken until its deadline. */
  readonly timer: NodeJS.Timeout;
  readonly resolve: (answer: SidecarAnswer) => void;
  readonly reject: (error: Error) => void;
};

type Group = {
  readonly idle: { process: PythonProcess; sinceMs: number }[];
  readonly waiting: Waiting[];
  busy: number;
};

export class ProcessPool {
  readonly counters = { requests: 0, failed: 0, timeouts: 0, refused: 0, started: 0, lost: 0 };
  readonly #settings: SidecarSettings;
  readonly #log: (text: string) => void;
  readonly #groups = { quick: newGroup(), logins: newGroup(), calls: newGroup(), minions: newGroup() };
  readonly #all = new Set<PythonProcess>();
  readonly #idleTimer: NodeJS.Timeout;
  /** After a failed start the next ones fail at once, so that a broken Python costs no second for each request. */
  #restUntilMs = 0;
  #lastFailure: Error | undefined;
  #isClosed = false;

  /** `log` gets what Python writes to its standard error. */
  constructor(settings: SidecarSettings, log: (text: string) => void) {
    this.#settings = settings;
    this.#log = log;
    this.#idleTimer = setInterval(() => this.#endIdle(), sidecarIdleMs / 10).unref();
  }

  get running(): number {
    return this.#all.size;
  }

  get waiting(): number {
    return Object.values(this.#groups).reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** @throws SaltworksError QUEUE_FULL, SIDECAR_FAILED, SIDECAR_TIMEOUT, FUNCTION_FAILED for what Python raised */
  ask(request: SidecarRequest, timeoutMs: number, onEvent?: OnSidecarEvent): Promise<SidecarAnswer> {
    const group = this.#groups[groupOf(request)];
    this.counters.requests += 1;
    if (this.#isClosed) return Promise.reject(new SaltworksError("CHANNEL_CLOSED", "the sidecar is closed"));
    if (group.waiting.length >= sidecarWaitingMax) {
      this.counters.refused += 1;
      return Promise.reject(
        new SaltworksError("QUEUE_FULL", "too many requests wait for Python", { sidecarWaitingMax }),
      );
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const index = group.waiting.findIndex((waiting) => waiting.timer === timer);
        if (index >= 0) group.waiting.splice(index, 1);
        this.counters.timeouts += 1;
        reject(allBusy(timeoutMs));
      }, timeoutMs);
      group.waiting.push({ request, timeoutMs, onEvent, askedMs: performance.now(), timer, resolve, reject });
      this.#pump(group);
    });
  }

  /** Ends all processes, busy ones after their answer: the site's modules are loaded anew at the next request. */
  forget(): void {
    for (const group of Object.values(this.#groups)) for (const { process } of group.idle.splice(0)) this.#end(process);
    this.#generation += 1;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#idleTimer);
    for (const group of Object.values(this.#groups))
      for (const { timer, reject } of group.waiting.splice(0)) {
        clearTimeout(timer);
        reject(new SaltworksError("CHANNEL_CLOSED", "the sidecar is closed"));
      }
    for (const process of this.#all) process.end();
  }

  #generation = 0;

  #pump(group: Group): void {
    while (group.busy < this.#settings.processesMax && !this.#isClosed) {
      const next = group.waiting.shift();
      if (next === undefined) return;
      group.busy += 1;
      void this.#serve(group, next).finally(() => {
        group.busy -= 1;
        this.#pump(group);
      });
    }
  }

  /** The time that a request waited counts, because its caller waits no longer than the deadline. */
  async #serve(group: Group, waiting: Waiting): Promise<void> {
    const { request, timeoutMs, askedMs, timer, resolve, reject } = waiting;
    const generation = this.#generation;
    let process: PythonProcess | undefined;
    try {
      process = await this.#take(group);
      const leftMs = timeoutMs - (performance.now() - askedMs);
      // Otherwise the timer has told the caller, or is about to.
      if (leftMs > 0) {
        clearTimeout(timer);
        resolve(await process.ask(request, leftMs, waiting.onEvent));
      }
    } catch (error) {
      clearTimeout(timer);
      const { code } = error as SaltworksError;
      this.counters[code === "SIDECAR_TIMEOUT" ? "timeouts" : "failed"] += 1;
      reject(error as Error);
    } finally {
      if (process !== undefined) this.#giveBack(group, process, generation);
    }
  }

  async #take(group: Group): Promise<PythonProcess> {
    for (let idle = group.idle.pop(); idle !== undefined; idle = group.idle.pop()) {
      if (!idle.process.isEnded) return idle.process;
      this.#end(idle.process);
    }
    if (performance.now() < this.#restUntilMs && this.#lastFailure !== undefined) throw this.#lastFailure;
    try {
      const process = await PythonProcess.start(this.#settings);
      this.counters.started += 1;
      this.#all.add(process);
      if (this.#isClosed) process.end();
      return process;
    } catch (error) {
      this.#lastFailure = error as Error;
      this.#restUntilMs = performance.now() + sidecarRestMs;
      throw error;
    }
  }

  #giveBack(group: Group, process: PythonProcess, generation: number): void {
    const complaint = process.takeComplaint().trim();
    if (complaint !== "") this.#log(complaint);
    if (process.isEnded) {
      this.counters.lost += 1;
      this.#all.delete(process);
    } else if (this.#isClosed || generation !== this.#generation) this.#end(process);
    else group.idle.push({ process, sinceMs: performance.now() });
  }

  #end(process: PythonProcess): void {
    this.#all.delete(process);
    process.end();
  }

  #endIdle(): void {
    const untilMs = performance.now() - sidecarIdleMs;
    for (const group of Object.values(this.#groups)) {
      const over = group.idle.filter(({ sinceMs }) => sinceMs < untilMs);
      for (const idle of over) {
        group.idle.splice(group.idle.indexOf(idle), 1);
        this.#end(idle.process);
      }
    }
  }
}

function allBusy(timeoutMs: number): SaltworksError {
  return new SaltworksError("SIDECAR_TIMEOUT", `all Python processes were busy for ${timeoutMs / 1_000} seconds`);
}

/** Logins have processes of their own, because strangers can ask for them, and minions' functions, because events can start many that hang. */
function groupOf(request: SidecarRequest): "quick" | "logins" | "calls" | "minions" {
  if (request.kind === "login") return "logins";
  if (request.kind === "minion_function") return "minions";
  return isCall(request) ? "calls" : "quick";
}

function newGroup(): Group {
  return { idle: [], waiting: [], busy: 0 };
}
