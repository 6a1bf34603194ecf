/**
 * A storm: a fleet made for load. Its minions sign in as real ones do and hold a REQ and a SUB connection each. Their requests are
 * sealed before the measured span and the replies verified after it, so that the generator uses a tenth of a master's CPU.
 * docs/decisions/0015-storm-connections.md says why these speak ZMTP themselves.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SaltworksError } from "../../../src/errors.ts";
import { demandRoomForMaster, descriptorLimits, withDescriptors } from "../descriptors.ts";
import { defaultKeyDirectory, loadPrimes } from "../keys.ts";
import { fleetIds, idPrefixDefault, processIdsOf } from "../members.ts";
import type { RequestVersion } from "../minion-options.ts";
import type {
  FromStormProcess,
  JobReturns,
  Load,
  PrepareAsks,
  PrepareReturns,
  Respond,
  ResponderCounts,
  ResponderReport,
  RunOutcome,
  ToStormProcess,
} from "./messages.ts";
import {
  addCounts,
  joinOutcomes,
  joinReports,
  type LanePlan,
  type ResponderTotal,
  type StormOutcome,
  splitReturns,
  splitSchedule,
} from "./outcome.ts";

export type { LaneTotal, StormOutcome } from "./outcome.ts";

export type StormOptions = {
  readonly masterHost: string;
  readonly requestPort: number;
  /** Default: the port that the auth reply names. 0: no minion subscribes. */
  readonly publishPort?: number;
  readonly minionCount: number;
  /** Minions take them by turns. Default: version 3. */
  readonly versions?: readonly RequestVersion[];
  readonly processCount?: number;
  /** Request connections of the whole storm; default one for each minion. With fewer, minions take turns on them. */
  readonly connections?: number;
  /** Default as `connections`. */
  readonly subscriptions?: number;
  /** For a master without `_auth`: the session key of all minions. */
  readonly sessionKey?: string;
  readonly idPrefix?: string;
  readonly firstIndex?: number;
  readonly keyDirectory?: string;
  /** How long keys may wait for their acceptance. */
  readonly acceptTimeoutMs?: number;
  readonly onProgress?: (done: number) => void;
  /** Aborts every wait. The caller still closes the storm. */
  readonly signal?: AbortSignal;
};

/** One process is as fast as a master on two cores. More processes matter for signing in, which is RSA. */
const minionsPerProcess = 4_000;
const spareDescriptors = 128;
/** Request, authentication and subscription. */
const descriptorsPerMinion = 3;
/** Descriptors of a master's stores, threads and subscribers. */
const masterDescriptors = 1_024;
const stopDeadlineMs = 5_000;
/** Time from the run message until the span begins, so that the message reaches every process. */
const startLeadMs = 100;
const signInsAtOnce = 16;
/** A master that accepts keys by itself does so at once; only a slow one needs a second request. */
const acceptTimeoutMsDefault = 10_000;
/** Memory for requests that are sealed ahead, over all processes. Further requests are sealed when they are sent, and counted. */
const sealedBytesMax = 768 * 1024 * 1024;
/** Timeout of a request. A real minion's is 5 to 10 s. With thousands outstanding a busy machine needs longer, and retries would be measured. */
const timeoutMsDefault = 60_000;
const triesDefault = 3;
const verifyMaxDefault = 200_000;

type Done = { readonly outcome?: RunOutcome; readonly report?: ResponderReport };
type Member = {
  readonly child: ChildProcess;
  readonly hasEnded: Promise<void>;
  readonly count: number;
  done: number;
  counts: ResponderCounts | undefined;
};
type Call = { readonly resolve: (done: Done) => void; readonly reject: (error: Error) => void };

export class Storm {
  readonly minionCount: number;
  readonly idPrefix: string;
  readonly firstIndex: number;
  readonly #members: Member[] = [];
  readonly #calls = new Map<Member, Call>();
  readonly #onProgress: (done: number) => void;
  #onCounts: () => void = () => {};
  readonly #connections: number;
  readonly #subscriptions: number;
  readonly #signal: AbortSignal | undefined;
  #isClosing = false;

  private constructor(options: StormOptions) {
    this.minionCount = options.minionCount;
    this.idPrefix = options.idPrefix ?? idPrefixDefault;
    this.firstIndex = options.firstIndex ?? 0;
    this.#onProgress = options.onProgress ?? (() => {});
    this.#connections = Math.min(this.minionCount, options.connections ?? this.minionCount);
    this.#subscriptions = Math.min(this.minionCount, options.subscriptions ?? this.#connections);
    demandRoomForMaster(this.minionCount, this.#connections + this.#subscriptions, true);
    this.#signal = options.signal;
    this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Resolves when all minions have signed in and subscribed. @throws SaltworksError QUEUE_FULL if there are too few descriptors */
  static async open(options: StormOptions): Promise<Storm> {
    const storm = new Storm(options);
    const keyCount = (options.firstIndex ?? 0) + options.minionCount;
    const isKeyless = options.sessionKey !== undefined;
    const primes = isKeyless ? [] : await storm.#primes(options.keyDirectory ?? defaultKeyDirectory(), keyCount);
    try {
      await storm.#signIn(options, primes);
      return storm;
    } catch (error) {
      await storm.close();
      throw error;
    }
  }

  /** Finding primes takes seconds at the first time, so that the signal ends it, too. */
  #primes(directory: string, keyCount: number): Promise<string[]> {
    return loadPrimes(directory, keyCount, () => this.#signal?.throwIfAborted());
  }

  ids(): string[] {
    return fleetIds(this);
  }

  get processIds(): number[] {
    return processIdsOf(this.#members);
  }

  /** One return of each minion to each job. `returnBytes`: see load/distribution.ts; 0 returns `true`. */
  async prepareReturns(o: { lane: string; jids: readonly string[]; fun: string; returnBytes: string; seed: number }) {
    const share = Math.floor(sealedBytesMax / this.#members.length);
    const order = { kind: "prepare-returns", ...o, sealedBytesMax: share } satisfies PrepareReturns;
    await this.#tellAll((_, index) => ({ ...order, seed: o.seed + index }));
  }

  /**
   * Returns of some minions to some jobs. `minion`: index in the fleet. `connections`: separate ones; 0: the minions' own.
   *
   * @returns the lane's plan
   */
  async prepareJobReturns(o: {
    lane: string;
    jids: readonly string[];
    fun: string;
    returns: JobReturns;
    plannedMs: Float64Array;
    connections: number;
  }): Promise<LanePlan> {
    const counts = this.#members.map(({ count }) => count);
    const parts = splitReturns(o.returns, o.plannedMs, counts);
    const share = Math.floor(sealedBytesMax / this.#members.length);
    const { lane, jids, fun } = o;
    const connections = o.connections === 0 ? 0 : this.#roomFor(o.connections);
    await this.#tellAll((_, index) => ({
      ...{ kind: "prepare-job-returns", lane, jids, fun, sealedBytesMax: share },
      returns: parts[index]?.returns ?? o.returns,
      connections: connections === 0 ? 0 : this.#part(connections, index),
    }));
    return { lane, plannedByProcess: parts.map(({ plannedMs }) => plannedMs) };
  }

  /** `_auth` of each minion, `rounds` times, over separate connections: one for each minion, or as many as descriptors allow. */
  async prepareAuths(o: {
    lane: string;
    rounds: number;
    hasToken: boolean;
    connections?: number;
    connectsEach?: boolean;
  }): Promise<number> {
    const connections = this.#roomFor(o.connections);
    const order = { kind: "prepare-auths", ...o, connectsEach: o.connectsEach ?? false } as const;
    await this.#tellAll((_, index) => ({ ...order, connections: this.#part(connections, index) }));
    return connections;
  }

  /** Other requests of each minion than returns, over separate connections. */
  async prepareAsks(o: Omit<PrepareAsks, "kind">): Promise<void> {
    const connections = this.#roomFor(o.connections);
    await this.#tellAll((_, index) => ({ kind: "prepare-asks", ...o, connections: this.#part(connections, index) }));
  }

  /** `scripts[k]`: the requests of the storm's minion number k, in order. */
  async prepareScripts(o: { lane: string; scripts: readonly (readonly Load[])[] }): Promise<void> {
    const counts = this.#members.map(({ count }) => count);
    const firstOf = (index: number): number => counts.slice(0, index).reduce((sum, count) => sum + count, 0);
    await this.#tellAll(({ count }, index) => {
      const first = firstOf(index);
      return { kind: "prepare-scripts", lane: o.lane, scripts: o.scripts.slice(first, first + count) };
    });
  }

  /** From now on the minions answer publishes. */
  async respond(o: Omit<Respond, "kind">): Promise<void> {
    await this.#tellAll((_, index) => ({ kind: "respond", ...o, seed: o.seed + index }));
  }

  /** @throws SaltworksError TASK_TIMEOUT with the counts as they were */
  async until(what: string, condition: (counts: ResponderCounts) => boolean, timeoutMs: number): Promise<void> {
    const counts = (): ResponderCounts => addCounts(this.#members.flatMap((member) => member.counts ?? []));
    let timer: NodeJS.Timeout | undefined;
    let onAbort = (): void => {};
    const waiting = new Promise<void>((resolve, reject) => {
      onAbort = () => reject(this.#signal?.reason);
      this.#signal?.addEventListener("abort", onAbort);
      if (this.#signal?.aborted === true) onAbort();
      this.#onCounts = () => {
        if (condition(counts())) resolve();
      };
      timer = setTimeout(() => {
        const now = JSON.stringify(counts());
        reject(new SaltworksError("TASK_TIMEOUT", `no "${what}" in ${timeoutMs} ms: ${now}`));
      }, timeoutMs);
      this.#onCounts();
    });
    try {
      await waiting;
    } finally {
      clearTimeout(timer);
      this.#signal?.removeEventListener("abort", onAbort);
      this.#onCounts = () => {};
    }
  }

  /** The counts of answers since they were last reset. */
  async responded(o: { isReset: boolean }): Promise<ResponderTotal> {
    const done = await this.#tellAll(() => ({ kind: "responded", ...o }));
    if (o.isReset) for (const member of this.#members) member.counts = undefined;
    return joinReports(done.flatMap(({ report }) => report ?? []));
  }

  /** Connections left within the master's descriptor limit. */
  #roomFor(wanted = this.minionCount): number {
    const room = descriptorLimits().hard - this.#connections - this.#subscriptions - masterDescriptors;
    return Math.max(this.#members.length, Math.min(wanted, this.minionCount, room));
  }

  #part(total: number, index: number): number {
    return share(total, index + 1, this.#members.length) - share(total, index, this.#members.length);
  }

  /** Runs the prepared lanes. A lane can run once. */
  async run(
    lanes: readonly LanePlan[],
    o: { timeoutMs?: number; tries?: number; verifyMax?: number; signal?: AbortSignal; startAtMs?: number } = {},
  ): Promise<StormOutcome> {
    const startAtMs = o.startAtMs ?? Date.now() + startLeadMs;
    const abandon = (): void => {
      for (const { child } of this.#members) if (child.connected) child.send({ kind: "abandon" });
    };
    o.signal?.addEventListener("abort", abandon, { once: true });
    const processes = this.#members.length;
    const counts = this.#members.map(({ count }) => count);
    const parts = lanes.map(({ lane, plannedByProcess, plannedMs }) => ({
      lane,
      plannedMs: plannedByProcess ?? (plannedMs === undefined ? [] : splitSchedule(plannedMs, counts)),
    }));
    const done = await this.#tellAll((_, index) => ({
      kind: "run",
      lanes: parts.map(({ lane, plannedMs }) => {
        const own = plannedMs[index];
        return own === undefined ? { lane } : { lane, plannedMs: own };
      }),
      startAtMs,
      timeoutMs: o.timeoutMs ?? timeoutMsDefault,
      tries: o.tries ?? triesDefault,
      verifyMax: Math.ceil((o.verifyMax ?? verifyMaxDefault) / processes),
    }));
    o.signal?.removeEventListener("abort", abandon);
    o.signal?.throwIfAborted();
    return joinOutcomes(
      lanes,
      done.flatMap(({ outcome }) => outcome ?? []),
    );
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    await Promise.all(
      this.#members.map(async ({ child, hasEnded }) => {
        if (child.connected) child.send({ kind: "stop" });
        // After an abort the outcome is lost anyway, and a busy process would stop only after its work.
        const patienceMs = this.#signal?.aborted === true ? 0 : stopDeadlineMs;
        const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
        await hasEnded;
        clearTimeout(timer);
      }),
    );
  }

  async #signIn(options: StormOptions, primes: readonly string[]): Promise<void> {
    const { minionCount } = this;
    const connections = this.#connections;
    const subscriptions = this.#subscriptions;
    const perMinion = (descriptorsPerMinion * Math.max(connections, subscriptions)) / minionCount;
    const most = Math.floor((descriptorLimits().hard - spareDescriptors) / perMinion);
    const processCount =
      options.processCount ?? Math.max(Math.ceil(minionCount / minionsPerProcess), Math.ceil(minionCount / most));
    const shares = Array.from({ length: processCount }, (_, index) => ({
      first: share(minionCount, index, processCount),
      count: share(minionCount, index + 1, processCount) - share(minionCount, index, processCount),
      connections: share(connections, index + 1, processCount) - share(connections, index, processCount),
      subscriptions: share(subscriptions, index + 1, processCount) - share(subscriptions, index, processCount),
    }));
    for (const part of shares) {
      const least = part.connections * 2 + part.subscriptions + spareDescriptors;
      this.#startProcess(part.count, { least, wanted: least });
    }
    await this.#tellAll((_, index) => {
      const part = shares[index];
      if (part === undefined) throw new RangeError(`no process ${index}`);
      return {
        kind: "sign-in",
        host: options.masterHost,
        requestPort: options.requestPort,
        publishPort: options.publishPort,
        idPrefix: this.idPrefix,
        primes,
        versions: options.versions ?? [3],
        sessionKey: options.sessionKey,
        signInsAtOnce: Math.ceil(signInsAtOnce / processCount),
        acceptTimeoutMs: options.acceptTimeoutMs ?? acceptTimeoutMsDefault,
        ...part,
        first: this.firstIndex + part.first,
        connections: Math.max(1, part.connections),
      };
    });
  }

  #startProcess(count: number, descriptors: { least: number; wanted: number }): void {
    const script = fileURLToPath(new URL("process.js", import.meta.url));
    const { file, args } = withDescriptors(descriptors, [process.execPath, "--enable-source-maps", script]);
    const child = spawn(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"], serialization: "advanced" });
    const hasEnded = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const member: Member = { child, hasEnded, count, done: 0, counts: undefined };
    child.on("message", (message: FromStormProcess) => this.#hear(member, message));
    child.once("error", (error) => this.#calls.get(member)?.reject(error));
    child.once("exit", (code, signal) => {
      if (this.#isClosing) return;
      const error = new SaltworksError("FUNCTION_FAILED", `a process of the storm ended: ${code ?? signal}`);
      this.#calls.get(member)?.reject(error);
    });
    this.#members.push(member);
  }

  /** Busy processes end when the storm is closed. */
  readonly #onAbort = (): void => {
    for (const { reject } of this.#calls.values()) reject(this.#signal?.reason);
  };

  async #tellAll(order: (member: Member, index: number) => ToStormProcess): Promise<Done[]> {
    this.#signal?.throwIfAborted();
    return Promise.all(
      this.#members.map((member, index) => {
        member.done = 0;
        return new Promise<Done>((resolve, reject) => {
          this.#calls.set(member, { resolve, reject });
          member.child.send(order(member, index));
        });
      }),
    );
  }

  #hear(member: Member, message: FromStormProcess): void {
    const call = this.#calls.get(member);
    switch (message.kind) {
      case "progress":
        member.done = message.done;
        this.#onProgress(this.#members.reduce((sum, { done }) => sum + done, 0));
        return;
      case "done":
        call?.resolve(message);
        return;
      case "counts":
        member.counts = message.counts;
        this.#onCounts();
        return;
      case "fault":
        call?.reject(new SaltworksError("FUNCTION_FAILED", `the storm failed: ${message.message}`));
    }
  }
}

/** The part of `total` below process `index` of `count`. */
function share(total: number, index: number, count: number): number {
  return Math.floor((total * index) / count);
}
