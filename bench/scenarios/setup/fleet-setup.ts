/** A fleet of complete simulated minions for scenarios, and its own cost. */
import { setTimeout as wait } from "node:timers/promises";
import { SaltworksError } from "../../../src/errors.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { type Fleet, type FleetOptions, openFleet } from "../../fleet/fleet.ts";
import { connectionsOf } from "../../fleet/kernel-connections.ts";
import { besideOthers, judgeGenerator, SelfCheck } from "../../load/self-check.ts";
import { type MachineTimes, otherShareBetween } from "../../machine-load.ts";
import type { ParameterValues, Point } from "../../results/schema.ts";
import { benchTimes } from "../measures/measure.ts";
import type { ScenarioContext } from "../scenario.ts";
import type { MasterUnderTest } from "./master-contract.ts";

const upTimeoutMs = 600_000;
const connectTimeoutMs = 60_000;
const connectPollMs = 100;

export async function openSimulatedFleet(
  { master, progress, signal }: Pick<ScenarioContext<ParameterValues>, "master" | "progress" | "signal">,
  minionCount: number,
  more: Partial<FleetOptions> = {},
): Promise<Fleet> {
  const phase = progress.phase("bring minions up", minionCount);
  let seen = 0;
  const fleet = await openFleet({
    masterHost: "127.0.0.1",
    requestPort: master.requestPort,
    publishPort: master.publishPort,
    minionCount,
    isRecordingAcks: true,
    signal,
    onCounters: ({ up }) => {
      phase.step(Math.max(0, up - seen));
      seen = Math.max(seen, up);
    },
    ...more,
  });
  try {
    await fleet.untilUp(upTimeoutMs);
    return fleet;
  } catch (error) {
    await fleet.close();
    throw error;
  } finally {
    phase.end();
  }
}

/** Neither side reports when a subscription is connected again, but the kernel does. */
export async function untilSubscribed(fleet: Fleet, master: MasterUnderTest, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + connectTimeoutMs;
  while (connectionsOf(fleet.processIds, master.publishPort) < fleet.minionCount) {
    if (performance.now() > deadlineMs) throw new SaltworksError("TASK_TIMEOUT", "the fleet did not subscribe again");
    await wait(connectPollMs, undefined, { signal });
  }
}

/** CPU times of the fleet's processes, read from outside, and the loop delay of this process. */
export class FleetCheck {
  readonly #fleet: Fleet;
  readonly #self = new SelfCheck();
  readonly #startedMs = performance.now();
  readonly #cpuMs: readonly number[];
  readonly #machine: MachineTimes;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    this.#cpuMs = fleet.processIds.map(cpuTimeMs);
    this.#self.start();
    this.#machine = benchTimes();
  }

  stop(): { generator: Point["generator"]; cpuMs: number } {
    const wallMs = performance.now() - this.#startedMs;
    const { loopDelayP99Ms } = this.#self.stop();
    const spent = this.#fleet.processIds.map((pid, index) => cpuTimeMs(pid) - (this.#cpuMs[index] ?? 0));
    const reports = spent.map((cpuMs) => ({ cpuMs, cpuShare: cpuMs / wallMs, loopDelayP99Ms }));
    return {
      generator: besideOthers(
        judgeGenerator({ reports, loop: "closed", sent: 0, late: 0 }),
        otherShareBetween(this.#machine, benchTimes()),
      ),
      cpuMs: spent.reduce((sum, ms) => sum + ms, 0),
    };
  }
}

/** Resolves when no returns are under way or to come. */
export function isSettled(counters: {
  returnsAcknowledged: number;
  returnsLost: number;
  jobsMatched: number;
}): boolean {
  return counters.returnsAcknowledged + counters.returnsLost === counters.jobsMatched;
}
