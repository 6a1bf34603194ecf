/** A workload file as a scenario: the same runs, results, sweeps, peers and conditions as the scenarios of the bench. */
import { SaltworksError } from "../../src/errors.ts";
import type { Point } from "../results/schema.ts";
import { defineScenario, type Scenario, type ScenarioContext } from "../scenarios/scenario.ts";
import { fillMines } from "../scenarios/setup/asks.ts";
import {
  aboutStorm,
  demandStorm,
  follow,
  type StormSite,
  versionConfig,
  withStorm,
} from "../scenarios/setup/storm-setup.ts";
import { warmUp } from "../scenarios/storm-returns.ts";
import { JidSource, minionCountOf } from "./jobs.ts";
import type { Workload, WorkloadParameters } from "./schema.ts";
import { WorkloadSite } from "./site.ts";
import { runStage } from "./stage.ts";
import { operationsIn } from "./stage-schedule.ts";

/** Raised when results can no longer be compared with earlier ones. */
const version = 1;
const warmUpFunction = "test.ping";

export function workloadScenario(workload: Workload): Scenario<WorkloadParameters> {
  const made = new WorkloadSite(workload);
  const { connections, minions, processes, seed } = workload;
  return defineScenario<WorkloadParameters>({
    name: `workload-${slugOf(workload.name)}`,
    version,
    question: `How does the master serve the workload "${workload.name}"?`,
    source: workload.text,
    defaults: {
      ...{ minions, version: Math.min(...workload.versions), connections, processes },
      ...{ warmUp: workload.warmUp, scale: 1, timeScale: 1, seed },
    },
    about: {
      ...aboutStorm,
      version: "the lowest request version of the file",
      warmUp: "returns of each minion before the first stage, which do not count",
      scale: "every rate is multiplied by it, but not the number of API users",
      timeScale: "the length of every stage is multiplied by it",
      seed: "of sizes, targets and arrival times",
    },
    demand: (p, masterHost) => {
      const lowest = Math.min(...workload.versions);
      if (p.version !== lowest) throw new SaltworksError("USAGE", "the request versions are the file's `versions`");
      demandStorm(p, masterHost, Math.max(p.minions * p.warmUp, mostOperations(workload, p)));
    },
    prepare: () => made.prepare(),
    masterConfig: (p) => ({ ...versionConfig(p), ...made.masterConfig() }),
    run: (context) => runWorkload(context, workload, made),
  });
}

async function runWorkload(
  context: ScenarioContext<WorkloadParameters>,
  workload: Workload,
  made: WorkloadSite,
): Promise<Point[]> {
  const { master, parameters: p } = context;
  made.demand(master);
  const work = async (site: StormSite): Promise<Point[]> => {
    const follower = await follow(master);
    try {
      await warmUp(context, site, { rounds: p.warmUp, fun: warmUpFunction, returnBytes: "64", seed: p.seed });
      await fillReadMines(context, site, workload);
      const session = await made.session(master, context.signal);
      const jids = new JidSource();
      const points: Point[] = [];
      for (const [index, stage] of workload.stages.entries()) {
        context.signal.throwIfAborted();
        const point = await runStage({ ...context, workload, site, jids, session }, stage, index);
        if (point !== undefined) points.push(point);
      }
      return points;
    } finally {
      follower.close();
    }
  };
  return withStorm(context, work, { versions: workload.versions });
}

/** Mines that are read have the size that the file says. */
async function fillReadMines(
  context: ScenarioContext<WorkloadParameters>,
  site: StormSite,
  { operations }: Workload,
): Promise<void> {
  const read = operations.find(({ kind }) => kind === "mine_get");
  if (read?.kind !== "mine_get") return;
  await fillMines({ ...context, parameters: { ...context.parameters, mineBytes: read.bytes } }, site);
}

/** Operations of the largest stage, which the generator holds in memory. */
function mostOperations({ operations, stages }: Workload, p: WorkloadParameters): number {
  const inStages = stages.map((stage) => {
    const scaled = { ...stage, seconds: stage.seconds * p.timeScale };
    const counts = operations.map((one) => {
      if (one.kind === "api") return 0;
      const count = operationsIn(one.rate * p.scale, scaled);
      return one.kind === "job" ? count * minionCountOf(one.target, p.minions) : count;
    });
    return counts.reduce((sum, count) => sum + count, 0);
  });
  return Math.max(...inStages);
}

/** A name that fits a result's file name. */
function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return slug.slice(0, 60) || "unnamed";
}
