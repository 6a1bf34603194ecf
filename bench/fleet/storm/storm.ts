/**
 * A storm: a fleet made for load. Its minions sign in as real ones do and hold a REQ and a SUB connection each. Their requests are
 * sealed before the measured span and the replies verified after it, so that the generator uses a tenth of a master's CPU.
 * docs/decisions/0015-storm-connections.md says why these speak ZMTP themselves.
 */
import { SaltworksError } from "../../../src/errors.ts";
import { demandRoomForMaster, descriptorLimits } from "../descriptors.ts";
import { defaultKeyDirectory, loadPrimes } from "../keys.ts";
import { fleetIds, idPrefixDefault } from "../members.ts";
import { isThisMachine } from "../this-machine.ts";
import type { StormHost, StormLink } from "./host.ts";
import { countsOf, type Done, doneOf } from "./host-time.ts";
import { localHost } from "./local-host.ts";
import type {
  FromStormProcess,
  Load,
  PrepareAsks,
  PrepareReturns,
  Respond,
  ResponderCounts,
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
  withAgents,
} from "./outcome.ts";
import { type Part, share, spareDescriptors, splitFleet } from "./shares.ts";
import type { JobReturnsOptions, StormOptions } from "./storm-options.ts";

export type { LaneTotal, StormOutcome } from "./outcome.ts";
export type { StormOptions } from "./storm-options.ts";

/** Descriptors of a master's stores, threads and subscribers. */
const masterDescriptors = 1_024;
const stopDeadlineMs = 5_000;
/** Time from the run message until the span begins, so that the message reaches every process, besides the round trip to its host. */
const startLeadMs = 100;
const signInsAtOnce = 16;
/** A master that accepts keys by itself does so at once; only a slow one needs a second request. */
const acceptTimeoutMsDefault = 10_000;
/** Memory of one host for requests that are sealed ahead. Further requests are sealed when they are sent, and counted. */
const sealedBytesMax = 768 * 1024 * 1024;
/** Timeout of a request. A real minion's is 5 to 10 s. With thousands outstanding a busy machine needs longer, and retries would be measured. */
const timeoutMsDefault = 60_000;
const triesDefault = 3;
const verifyMaxDefault = 200_000;

type Member = {
  readonly part: Part;
  readonly link: StormLink;
  done: number;
  counts: ResponderCounts | undefined;
  /** It cannot be told anything any more. */
  fault?: Error;
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
  readonly #hosts: readonly StormHost[];
  /** Separate connections by lane, which stay open until the storm ends. */
  readonly #laneConnections = new Map<string, number>();
  /** Whether this machine's limits are the master's. */
  readonly #isMasterHere: boolean;
  readonly #signal: AbortSignal | undefined;
  #isClosing = false;

  private constructor(options: StormOptions) {
    this.minionCount = options.minionCount;
    this.idPrefix = options.idPrefix ?? idPrefixDefault;
    this.firstIndex = options.firstIndex ?? 0;
    this.#onProgress = options.onProgress ?? (() => {});
    this.#connections = Math.min(this.minionCount, options.connections ?? this.minionCount);
    this.#subscriptions = Math.min(this.minionCount, options.subscriptions ?? this.#connections);
    this.#hosts = options.hosts ?? [localHost()];
    this.#isMasterHere = isThisMachine(options.masterHost);
    if (this.#isMasterHere) demandRoomForMaster(this.minionCount, this.#connections + this.#subscriptions, true);
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
    return this.#members.flatMap(({ link }) => link.processId ?? []);
  }

  /** One return of each minion to each job. `returnBytes`: see load/distribution.ts; 0 returns `true`. */
  async prepareReturns(o: { lane: string; jids: readonly string[]; fun: string; returnBytes: string; seed: number }) {
    const order = { kind: "prepare-returns", ...o } as const;
    await this.#tellAll(({ part }, index): PrepareReturns => {
      return { ...order, seed: o.seed + index, sealedBytesMax: this.#sealedBytes(part) };
    });
  }

  /** A process's share of its host's memory. */
  #sealedBytes({ host }: Part): number {
    return Math.floor(sealedBytesMax / this.#members.filter(({ part }) => part.host === host).length);
  }

  /**
   * Returns of some minions to some jobs.
   *
   * @returns the lane's plan
   */
  async prepareJobReturns(o: JobReturnsOptions): Promise<LanePlan> {
    const parts = splitReturns(
      o.returns,
      o.plannedMs,
      this.#members.map(({ part }) => part.count),
    );
    const { lane, jids, fun, awaitsPublish } = o;
    const connections = o.connections === 0 ? 0 : this.#roomFor(lane, o.connections);
    await this.#tellAll(({ part }, index) => ({
      ...{ kind: "prepare-job-returns", lane, jids, fun, awaitsPublish, sealedBytesMax: this.#sealedBytes(part) },
      returns: parts[index]?.returns ?? o.returns,
      connections: connections === 0 ? 0 : this.#share(connections, part),
    }));
    return { lane, plannedByProcess: parts.map(({ plannedMs }) => plannedMs) };
  }

  /** A job of a lane that awaits its publishes was published: see `Published`. */
  published(lane: string, job: number, lateMs: number | undefined): void {
    for (const { link } of this.#members) link.send({ kind: "published", lane, job, lateMs });
  }

  /** `_auth` of each minion, `rounds` times, over separate connections: one for each minion, or as many as descriptors allow. */
  async prepareAuths(o: {
    lane: string;
    rounds: number;
    hasToken: boolean;
    connections?: number;
    connectsEach?: boolean;
  }): Promise<number> {
    const connections = this.#roomFor(o.lane, o.connections);
    const order = { kind: "prepare-auths", ...o, connectsEach: o.connectsEach ?? false } as const;
    await this.#tellAll(({ part }) => ({ ...order, connections: this.#share(connections, part) }));
    return connections;
  }

  /** Other requests of each minion than returns, over separate connections. */
  async prepareAsks(o: Omit<PrepareAsks, "kind" | "sealedBytesMax">): Promise<void> {
    const connections = this.#roomFor(o.lane, o.connections);
    await this.#tellAll(({ part }) => {
      const sealedBytes = this.#sealedBytes(part);
      return { kind: "prepare-asks", ...o, sealedBytesMax: sealedBytes, connections: this.#share(connections, part) };
    });
  }

  /** `scripts[k]`: the requests of the storm's minion number k, in order. */
  async prepareScripts(o: { lane: string; scripts: readonly (readonly Load[])[] }): Promise<void> {
    await this.#tellAll(({ part: { first, count } }) => {
      return { kind: "prepare-scripts", lane: o.lane, scripts: o.scripts.slice(first, first + count) };
    });
  }

  /** From now on the minions answer publishes. */
  async respond(o: Omit<Respond, "kind">): Promise<void> {
    await this.#measureClocks();
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
        const fault = this.#members.find((member) => member.fault !== undefined)?.fault;
        if (fault !== undefined) reject(fault);
        else if (condition(counts())) resolve();
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
    const total = joinReports(done.flatMap(({ report }) => report ?? []));
    return withAgents(total, this.#parts());
  }

  /** Connections left within the master's descriptor limit. */
  #roomFor(lane: string, wanted = this.minionCount): number {
    this.#laneConnections.delete(lane);
    const ofOthers = [...this.#laneConnections.values()].reduce((sum, count) => sum + count, 0);
    const room = descriptorLimits().hard - this.#connections - this.#subscriptions - ofOthers - masterDescriptors;
    const most = this.#isMasterHere ? Math.min(this.minionCount, room) : this.minionCount;
    const connections = Math.max(this.#members.length, Math.min(wanted, most));
    this.#laneConnections.set(lane, connections);
    return connections;
  }

  #share(total: number, { first, count }: Part): number {
    return Math.max(1, share(total, first + count, this.minionCount) - share(total, first, this.minionCount));
  }

  #parts(): Part[] {
    return this.#members.map(({ part }) => part);
  }

  async #measureClocks(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.measureClock()));
  }

  /** Runs the prepared lanes. A lane can run once. `onStart`: told when the span will begin, as `Date.now()`. */
  async run(
    lanes: readonly LanePlan[],
    o: {
      timeoutMs?: number;
      tries?: number;
      verifyMax?: number;
      signal?: AbortSignal;
      onStart?: (atMs: number) => void;
    } = {},
  ): Promise<StormOutcome> {
    const abandon = (): void => {
      for (const { link } of this.#members) link.send({ kind: "abandon" });
    };
    o.signal?.addEventListener("abort", abandon, { once: true });
    await this.#plan(lanes);
    await this.#measureClocks();
    const startAtMs = Date.now() + startLeadMs + Math.max(...this.#hosts.map(({ clock }) => clock.roundTripMs));
    o.onStart?.(startAtMs);
    const done = await this.#tellAll(({ part }) => ({
      kind: "run",
      lanes: lanes.map(({ lane }) => lane),
      startAtMs: startAtMs + part.host.clock.offsetMs,
      timeoutMs: o.timeoutMs ?? timeoutMsDefault,
      tries: o.tries ?? triesDefault,
      verifyMax: Math.ceil((o.verifyMax ?? verifyMaxDefault) / this.#members.length),
    }));
    o.signal?.removeEventListener("abort", abandon);
    o.signal?.throwIfAborted();
    const outcome = joinOutcomes(
      lanes,
      done.flatMap((each) => each.outcome ?? []),
    );
    return withAgents(outcome, this.#parts());
  }

  /** Schedules go ahead of the run, because large ones take long on their way to another host. */
  async #plan(lanes: readonly LanePlan[]): Promise<void> {
    const counts = this.#members.map(({ part }) => part.count);
    for (const { lane, plannedByProcess, plannedMs } of lanes) {
      const parts = plannedByProcess ?? (plannedMs && splitSchedule(plannedMs, counts));
      if (parts === undefined) continue;
      await this.#tellAll((_, index) => ({ kind: "plan", lane, plannedMs: parts[index] ?? new Float64Array() }));
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    await Promise.all(
      this.#members.map(async ({ link }) => {
        link.send({ kind: "stop" });
        // After an abort the outcome is lost anyway, and a busy process would stop only after its work.
        const patienceMs = this.#signal?.aborted === true ? 0 : stopDeadlineMs;
        const timer = setTimeout(() => link.kill(), patienceMs);
        await link.hasEnded;
        clearTimeout(timer);
      }),
    );
  }

  async #signIn(options: StormOptions, primes: readonly string[]): Promise<void> {
    const { processCount, versions = [3] } = options;
    const size = { minionCount: this.minionCount, connections: this.#connections, subscriptions: this.#subscriptions };
    const parts = splitFleet({ ...size, ...(processCount === undefined ? {} : { processCount }) }, this.#hosts);
    for (const part of parts) this.#startProcess(part);
    await this.#tellAll(({ part: { first, count, connections, subscriptions } }) => ({
      kind: "sign-in",
      host: options.masterHost,
      masters: [{ requestPort: options.requestPort, publishPort: options.publishPort }, ...(options.others ?? [])],
      idPrefix: this.idPrefix,
      primes,
      versions,
      sessionKey: options.sessionKey,
      signInsAtOnce: Math.ceil(signInsAtOnce / parts.length),
      acceptTimeoutMs: options.acceptTimeoutMs ?? acceptTimeoutMsDefault,
      ...{ first: this.firstIndex + first, count, connections, subscriptions },
    }));
  }

  #startProcess(part: Part): void {
    const least = part.connections * 2 + part.subscriptions + spareDescriptors;
    const link = part.host.start(
      { least, wanted: part.host.descriptorsMax },
      {
        onMessage: (message) => this.#hear(member, message),
        onFault: (error) => {
          if (this.#isClosing) return;
          member.fault ??= error;
          this.#calls.get(member)?.reject(error);
          this.#onCounts();
        },
      },
    );
    const member: Member = { part, link, done: 0, counts: undefined };
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
          if (member.fault !== undefined) reject(member.fault);
          member.link.send(order(member, index));
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
        call?.resolve(doneOf(message, member.part.host));
        return;
      case "counts":
        member.counts = countsOf(message.counts, member.part.host);
        this.#onCounts();
        return;
      case "fault":
        call?.reject(new SaltworksError("FUNCTION_FAILED", `the storm failed: ${message.message}`));
    }
  }
}
