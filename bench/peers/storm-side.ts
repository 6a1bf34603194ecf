/** One master with a separate storm. A turn puts the same load on the master each time and measures its cost. */
import { SaltworksError } from "../../src/errors.ts";
import { type LaneTotal, Storm } from "../fleet/storm/storm.ts";
import { planSchedule } from "../load/open-loop.ts";
import { measured } from "../scenarios/measures/measure.ts";
import { noProgress } from "../scenarios/scenario.ts";
import type { MasterUnderTest } from "../scenarios/setup/master-contract.ts";
import { type MasterChoice, masterConfigOf, startMaster } from "../scenarios/setup/master-under-test.ts";
import { type Follower, follow, publishJobs } from "../scenarios/setup/storm-setup.ts";
import { contenderName } from "./against.ts";
import type { LoadTurn } from "./load-report.ts";

/**
 * `returns`: one of each minion to each of `jobs`; without `ratePerSecond` as fast as the master answers, with it at random times.
 * `auths`: of each minion, `rounds` times, as fast as the master answers; with `connectsEach` over a new connection each.
 */
export type Load =
  | {
      readonly kind: "returns";
      readonly jobs: number;
      readonly returnBytes: string;
      readonly ratePerSecond?: number;
    }
  | { readonly kind: "auths"; readonly rounds: number; readonly hasToken: boolean; readonly connectsEach: boolean };

export type StormSideOptions = {
  /** Default: kind, version and workers of the master. */
  readonly name?: string;
  readonly master: MasterChoice;
  readonly minionCount: number;
  /** Request connections; default one for each minion. */
  readonly connections?: number;
  readonly keyDirectory?: string;
  /** Resolves when all that the turn stored is also where else it is to be, such as in a database. That work counts, too. */
  readonly untilKept?: (jids: readonly string[]) => Promise<void>;
};

/** Timeout: in a closed loop of thousands over one slow worker, the last request waits for all others. */
const requestTimeoutMs = 120_000;
const lane = "load";
const fun = "test.ping";

export class StormSide {
  readonly name: string;
  readonly minionCount: number;
  readonly #master: MasterUnderTest;
  readonly #storm: Storm;
  readonly #events: Follower;
  readonly #untilKept: (jids: readonly string[]) => Promise<void>;
  #turns = 0;

  private constructor(options: StormSideOptions, master: MasterUnderTest, storm: Storm, events: Follower) {
    this.name = options.name ?? contenderName(options.master, master.version);
    this.minionCount = options.minionCount;
    this.#master = master;
    this.#storm = storm;
    this.#events = events;
    this.#untilKept = options.untilKept ?? (() => Promise.resolve());
  }

  /** Resolves when the whole fleet has signed in. */
  static async open(options: StormSideOptions): Promise<StormSide> {
    const { minionCount, connections, keyDirectory } = options;
    const master = await startMaster(options.master, masterConfigOf(options.master, {}));
    let storm: Storm | undefined;
    try {
      storm = await Storm.open({
        masterHost: "127.0.0.1",
        requestPort: master.requestPort,
        minionCount,
        ...(connections === undefined ? {} : { connections }),
        ...(keyDirectory === undefined ? {} : { keyDirectory }),
        ...(master.sessionKey === undefined ? {} : { sessionKey: master.sessionKey }),
      });
      return new StormSide(options, master, storm, await follow(master));
    } catch (error) {
      await storm?.close();
      await master.remove();
      throw error;
    }
  }

  /** Return events that this master's subscriber has seen so far. */
  get returnEvents(): number {
    return this.#events.counts.returns;
  }

  get master(): MasterUnderTest {
    return this.#master;
  }

  get storm(): Storm {
    return this.#storm;
  }

  /**
   * @param beside other work for the master from the load's first request until the signal, which comes after the last answer
   * @throws SaltworksError FUNCTION_FAILED if a request was refused, lost, or answered wrongly
   */
  async turn(load: Load, beside: (signal: AbortSignal) => Promise<void> = async () => undefined): Promise<LoadTurn> {
    const jids = await this.#prepare(load);
    const { signal } = new AbortController();
    const { span, result } = await measured(this.#master, signal, async () => {
      const ending = new AbortController();
      const other = beside(ending.signal);
      // Its errors are thrown where it is awaited.
      other.catch(() => undefined);
      const outcome = await this.#storm
        .run([this.#plan(load)], { timeoutMs: requestTimeoutMs, tries: 1 })
        .finally(() => ending.abort());
      await other;
      await this.#untilKept(jids);
      return outcome;
    });
    const total = result.lanes[lane];
    if (total === undefined) throw new SaltworksError("FUNCTION_FAILED", "the storm told nothing of its requests");
    this.#demandAll(total);
    const { p50, p99 } = total.operation.percentilesUs;
    return {
      cpuMs: span.cpuMs,
      operations: total.completed,
      wallMs: result.wallMs,
      generatorCpuMs: result.generatorCpuMs,
      storm: {
        bytesPerRequest: total.sentBytes / total.sent,
        latencyUsP50: p50,
        latencyUsP99: p99,
        histogram: total.operation.histogram,
        voidReasons: result.generator.voidReasons,
      },
    };
  }

  async close(): Promise<void> {
    this.#events.close();
    await this.#storm.close();
    await this.#master.remove();
  }

  /** @returns the jobs to which the minions return */
  async #prepare(load: Load): Promise<readonly string[]> {
    this.#turns += 1;
    if (load.kind === "auths") {
      const { rounds, hasToken, connectsEach } = load;
      await this.#storm.prepareAuths({ lane, rounds, hasToken, connectsEach });
      return [];
    }
    const { signal } = new AbortController();
    const jids = await publishJobs({ master: this.#master, progress: noProgress, signal }, load.jobs, fun);
    await this.#storm.prepareReturns({ lane, jids, fun, returnBytes: load.returnBytes, seed: this.#turns });
    return jids;
  }

  #plan(load: Load) {
    if (load.kind === "auths" || load.ratePerSecond === undefined) return { lane };
    const { ratePerSecond } = load;
    const seconds = (load.jobs * this.minionCount) / ratePerSecond;
    const schedule = planSchedule({ ratePerSecond, seconds, arrivals: "poisson", seed: this.#turns });
    return { lane, plannedMs: schedule.plannedMs };
  }

  #demandAll({ planned, completed, failed, timedOut, wrong }: LaneTotal): void {
    if (completed === planned && wrong === 0) return;
    const counts = `${completed} answered, ${failed} refused, ${timedOut} without answer, ${wrong} answered wrongly`;
    const message = `${this.name}: of ${planned} requests ${counts}\n${this.#master.logTail()}`;
    throw new SaltworksError("FUNCTION_FAILED", message);
  }
}
