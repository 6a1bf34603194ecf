/**
 * A fleet of simulated minions in processes of its own, against any master that speaks Salt's protocol.
 * Each minion has its own RSA key, session key and two TCP connections; see `minion.ts` for what it does.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SaltworksError } from "../../src/errors.ts";
import { addCounters, type FleetCounters, newCounters } from "./counters.ts";
import {
  type DescriptorNeed,
  descriptorLimits,
  descriptorsForMinions,
  minionsPerProcessMax,
  withDescriptors,
} from "./descriptors.ts";
import { defaultKeyDirectory, loadPrimes, type Progress } from "./keys.ts";
import { fleetIds, idPrefixDefault, processIdsOf } from "./members.ts";
import type { FromProcess, ToProcess } from "./messages.ts";
import { type MinionOptions, minionDefaults } from "./minion-options.ts";

export type FleetOptions = Partial<MinionOptions> & {
  readonly masterHost: string;
  readonly requestPort: number;
  readonly minionCount: number;
  /** Default: one process for every 500 minions, or more if descriptors are few. */
  readonly processCount?: number;
  readonly idPrefix?: string;
  /** Index of the first minion. Fleets that must not share keys take different ranges. */
  readonly firstIndex?: number;
  readonly keyDirectory?: string;
  readonly onKeyProgress?: Progress;
  /** Called with the sums at each report of a process. */
  readonly onCounters?: (counters: FleetCounters) => void;
  /** Minions of one process that sign in at the same time. */
  readonly bringUpsAtOnce?: number;
  /** Aborts every wait. The caller still closes the fleet. */
  readonly signal?: AbortSignal;
};

const minionsPerProcess = 500;
const bringUpsAtOnceDefault = 16;
/** Time from the stop message until a process is killed. */
const stopDeadlineMs = 5_000;

type Member = { readonly child: ChildProcess; counters: FleetCounters; readonly hasEnded: Promise<void> };
type Waiter = { readonly check: () => void; readonly fail: (error: Error) => void };

export type Condition = (counters: FleetCounters) => boolean;

export class Fleet {
  readonly minionCount: number;
  readonly idPrefix: string;
  readonly firstIndex: number;
  readonly #members: Member[] = [];
  readonly #waiters = new Set<Waiter>();
  readonly #answers = new Map<number, (ids: readonly string[]) => void>();
  readonly #onCounters: (counters: FleetCounters) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#fail(this.#signal?.reason as Error);
  #calls = 0;
  #fault: Error | undefined;
  #isClosing = false;

  constructor(options: FleetOptions, primes: readonly string[]) {
    this.minionCount = options.minionCount;
    this.idPrefix = options.idPrefix ?? idPrefixDefault;
    this.firstIndex = options.firstIndex ?? 0;
    this.#onCounters = options.onCounters ?? (() => {});
    this.#signal = options.signal;
    this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
    const processCount = processesFor(options);
    for (let index = 0; index < processCount; index += 1) {
      const from = Math.floor((this.minionCount * index) / processCount);
      const to = Math.floor((this.minionCount * (index + 1)) / processCount);
      const member = this.#startProcess(descriptorsForMinions(to - from));
      tell(member, {
        kind: "start",
        options: minionOptionsOf(options),
        idPrefix: this.idPrefix,
        first: this.firstIndex + from,
        count: to - from,
        primes,
        bringUpsAtOnce: options.bringUpsAtOnce ?? bringUpsAtOnceDefault,
      });
    }
  }

  get processIds(): number[] {
    return processIdsOf(this.#members);
  }

  /** Sums over all processes, at most 50 ms old. */
  get counters(): FleetCounters {
    return addCounters(this.#members.map((member) => member.counters));
  }

  ids(): string[] {
    return fleetIds(this);
  }

  /** The counters as text, and the first fault of a process. */
  describe(): string {
    const fault = this.#fault === undefined ? "" : `; ${this.#fault.message}`;
    return `${describe(this.counters)}${fault}`;
  }

  /** Resolves when every return of every job so far was acknowledged or given up. @throws SaltworksError as `until` */
  untilSettled(timeoutMs: number): Promise<FleetCounters> {
    const isSettled: Condition = ({ returnsAcknowledged, returnsLost, jobsMatched }) =>
      returnsAcknowledged + returnsLost === jobsMatched;
    return this.until("every return acknowledged or given up", isSettled, timeoutMs);
  }

  /**
   * Resolves as soon as the counters satisfy `condition`.
   *
   * @throws SaltworksError TASK_TIMEOUT with the counters as they were, FUNCTION_FAILED if a process of the fleet failed
   */
  async until(what: string, condition: Condition, timeoutMs: number): Promise<FleetCounters> {
    let waiter: Waiter | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<FleetCounters>((resolve, reject) => {
        const check = (): void => {
          const now = this.counters;
          if (condition(now)) resolve(now);
        };
        waiter = { check, fail: reject };
        this.#waiters.add(waiter);
        timer = setTimeout(() => {
          reject(new SaltworksError("TASK_TIMEOUT", `no "${what}" in ${timeoutMs} ms: ${this.describe()}`));
        }, timeoutMs);
        if (this.#fault) reject(this.#fault);
        else check();
      });
    } finally {
      clearTimeout(timer);
      if (waiter) this.#waiters.delete(waiter);
    }
  }

  untilUp(timeoutMs: number): Promise<FleetCounters> {
    return this.until("all minions up", ({ up }) => up === this.minionCount, timeoutMs);
  }

  /** Ids of the minions whose return to this job the master acknowledged. Needs `isRecordingAcks`. */
  async acknowledged(jid: string): Promise<Set<string>> {
    const parts = await Promise.all(
      this.#members.map(
        (member) =>
          new Promise<readonly string[]>((resolve) => {
            this.#calls += 1;
            this.#answers.set(this.#calls, resolve);
            tell(member, { kind: "acknowledged", call: this.#calls, jid });
          }),
      ),
    );
    return new Set(parts.flat());
  }

  /** Ends all connections and processes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    await Promise.all(
      this.#members.map(async (member) => {
        if (member.child.connected) tell(member, { kind: "stop" });
        const timer = setTimeout(() => member.child.kill("SIGKILL"), stopDeadlineMs);
        await member.hasEnded;
        clearTimeout(timer);
      }),
    );
  }

  #startProcess(descriptors: DescriptorNeed): Member {
    const script = fileURLToPath(new URL("process.js", import.meta.url));
    const { file, args } = withDescriptors(descriptors, [process.execPath, "--enable-source-maps", script]);
    const child = spawn(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"], serialization: "advanced" });
    const hasEnded = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const member: Member = { child, counters: newCounters(), hasEnded };
    child.on("message", (message: FromProcess) => this.#hear(member, message));
    child.once("error", (error) => this.#fail(error));
    child.once("exit", (code, signal) => {
      if (!this.#isClosing)
        this.#fail(new SaltworksError("FUNCTION_FAILED", `a fleet process ended: ${code ?? signal}`));
    });
    this.#members.push(member);
    return member;
  }

  #hear(member: Member, message: FromProcess): void {
    switch (message.kind) {
      case "counters":
        member.counters = message.counters;
        this.#onCounters(this.counters);
        for (const waiter of this.#waiters) waiter.check();
        return;
      case "acknowledged":
        this.#answers.get(message.call)?.(message.ids);
        this.#answers.delete(message.call);
        return;
      case "fault":
        this.#fail(new SaltworksError("FUNCTION_FAILED", `a simulated minion failed: ${message.message}`));
    }
  }

  #fail(error: Error): void {
    this.#fault ??= error;
    for (const waiter of this.#waiters) waiter.fail(error);
  }
}

/** Finds or makes the keys, then starts the processes. The minions sign in afterwards, see `untilUp`. */
export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const keyCount = (options.firstIndex ?? 0) + options.minionCount;
  const primes = await loadPrimes(options.keyDirectory ?? defaultKeyDirectory(), keyCount, options.onKeyProgress);
  options.signal?.throwIfAborted();
  return new Fleet(options, primes);
}

function processesFor({ minionCount, processCount }: FleetOptions): number {
  const most = minionsPerProcessMax(descriptorLimits());
  return Math.max(1, processCount ?? Math.ceil(minionCount / minionsPerProcess), Math.ceil(minionCount / most));
}

function minionOptionsOf(options: FleetOptions): MinionOptions {
  const { masterHost, requestPort } = options;
  const chosen = Object.keys(minionDefaults).flatMap((name) => {
    const value = options[name as keyof typeof minionDefaults];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...minionDefaults, ...Object.fromEntries(chosen), masterHost, requestPort };
}

function describe(counters: FleetCounters): string {
  return Object.entries(counters)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

function tell(member: Member, message: ToProcess): void {
  member.child.send(message);
}
