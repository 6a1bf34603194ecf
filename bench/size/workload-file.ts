/** A plan's peak hour as a workload file. */
import { stringify } from "yaml";
import type { FleetLoad, PlannedJob, Rates } from "./load.ts";

const daySeconds = 86_400;
const runSeconds = 60;
const eventBytes = 200;
const mineBytes = 256;
const delayMs = "1000..20000";

export function workloadYaml(load: FleetLoad, peak: Rates): string {
  const jobs = load.jobs.map((job) => ({
    ...{ kind: "job", rate: jobRate(job, load.peak), target: { share: `${job.targetShare * 100}%` } },
    ...{ function: job.function, bytes: job.bytes, delayMs },
  }));
  const perMinion = peak.events / Math.max(1e-9, load.eventsPerDay + load.minePutsPerDay);
  const others = [
    { kind: "event", rate: perMinion * load.eventsPerDay, bytes: eventBytes },
    { kind: "mine", rate: perMinion * load.minePutsPerDay, bytes: mineBytes },
    { kind: "mine_get", rate: peak.mineGets, target: "sim-1?" },
    { kind: "pillar", rate: peak.pillars },
    { kind: "auth", rate: peak.auths },
  ].filter(({ rate }) => rate > 0);
  return stringify({
    name: `plan for ${load.minions.toLocaleString("en-US")} minions`,
    minions: load.minions,
    seconds: runSeconds,
    operations: [...jobs, ...others].map((operation) => ({
      ...operation,
      rate: Number(operation.rate.toPrecision(4)),
    })),
  });
}

function jobRate({ perDay }: PlannedJob, peak: number): number {
  return (perDay * peak) / daySeconds;
}
