/** A plan's peak hour as a workload file. */
import { stringify } from "yaml";
import { SaltworksError } from "../../src/errors.ts";
import { rateLeast, stageSeconds } from "../workload/recorded-seconds.ts";
import type { FleetLoad, PlannedJob, Rates } from "./load.ts";

const daySeconds = 86_400;
const eventBytes = 200;
const mineBytes = 256;
const delayMs = "1000..20000";
/** The most that a workload file takes. */
const operationsMost = 64;

type Operation = { readonly kind: string; readonly name: string; readonly rate: number };

/** @throws SaltworksError USAGE for a load of which nothing comes within an hour, or with more jobs than a file takes */
export function workloadYaml(load: FleetLoad, peak: Rates): string {
  const requests = peak.returns + peak.events + peak.mineGets + peak.pillars + peak.auths;
  const wanted = load.jobs.map((job) => (job.perDay * load.peak) / daySeconds);
  const secondsMost = stageSeconds(
    [rateLeast],
    wanted.reduce((total, rate) => total + rate, requests),
  );
  const remarks: string[] = [];
  const names = namesOf(load.jobs);
  const jobs = load.jobs.flatMap((job, index) => {
    const name = names[index] ?? job.function;
    const made = jobOf(job, { load, name, rate: wanted[index] ?? 0, rateMin: 1 / secondsMost });
    remarks.push(...made.remarks);
    return made.operations;
  });
  const others = othersOf(load, peak);
  const seldom = others.filter(({ rate }) => rate > 0 && rate < 1 / secondsMost);
  if (seldom.length > 0)
    remarks.push(`Left out, as less than one comes in a stage: ${seldom.map(({ name }) => name).join(", ")}.`);
  const operations = [...jobs, ...others.filter(({ rate }) => rate >= 1 / secondsMost)];
  demandCount(operations.length);
  const body = stringify({
    name: `plan for ${load.minions.toLocaleString("en-US")} minions`,
    minions: load.minions,
    seconds: stageSeconds(
      operations.map(({ rate }) => rate),
      jobs.reduce((total, { rate }) => total + rate, requests),
    ),
    operations: operations.map((operation) => ({ ...operation, rate: ceilRate(operation.rate) })),
  });
  return [...[about, ...remarks].map((line) => `# ${line}\n`), body].join("");
}

const about = "The peak hour of a plan, for `saltworks bench`: docs/workload.md describes every member.";

function demandCount(operations: number): void {
  if (operations === 0) {
    throw new SaltworksError(
      "USAGE",
      "--workload: nothing of this load comes within an hour; raise --peak or the load",
    );
  }
  if (operations <= operationsMost) return;
  throw new SaltworksError(
    "USAGE",
    `--workload: a file takes ${operationsMost} operations, and this plan has ${operations}: give fewer of --job`,
  );
}

/** A job that comes less than once in the longest stage comes once in it, to so much less of the fleet that the returns stay the same. */
function jobOf(
  job: PlannedJob,
  o: { readonly load: FleetLoad; readonly name: string; readonly rate: number; readonly rateMin: number },
): { readonly operations: Operation[]; readonly remarks: string[] } {
  const rate = Math.max(o.rate, o.rateMin);
  const share = (job.targetShare * o.rate) / rate;
  if (share * o.load.minions < 1) {
    return { operations: [], remarks: [`Left out, as less than one return of it comes in a stage: ${o.name}.`] };
  }
  const percent = `${Number((share * 100).toPrecision(4))}%`;
  const operation = { kind: "job", name: o.name, rate, target: { share: percent } };
  const remarks =
    share === job.targetShare
      ? []
      : [`${o.name} comes more often and to less of the fleet than planned, with as many returns an hour.`];
  return { operations: [{ ...operation, function: job.function, bytes: job.bytes, delayMs } as Operation], remarks };
}

/** `state.apply`, `state.apply 2`, ..: each name once, and none that another kind of operation has. */
function namesOf(jobs: readonly PlannedJob[]): string[] {
  const used = new Set(otherKinds);
  return jobs.map(({ function: own }) => {
    let name = own;
    for (let index = 2; used.has(name); index += 1) name = `${own} ${index}`;
    used.add(name);
    return name;
  });
}

const otherKinds: readonly string[] = ["event", "mine", "mine_get", "pillar", "auth"];

function othersOf(load: FleetLoad, peak: Rates): Operation[] {
  const perMinion = peak.events / Math.max(1e-9, load.eventsPerDay + load.minePutsPerDay);
  return [
    { kind: "event", rate: perMinion * load.eventsPerDay, bytes: eventBytes },
    { kind: "mine", rate: perMinion * load.minePutsPerDay, bytes: mineBytes },
    { kind: "mine_get", rate: peak.mineGets, target: "sim-1?" },
    { kind: "pillar", rate: peak.pillars },
    { kind: "auth", rate: peak.auths },
  ].map((operation) => ({ ...operation, name: operation.kind }));
}

/** Rounded up, so that an operation that comes once still does. */
function ceilRate(rate: number): number {
  const digits = 10 ** (3 - Math.floor(Math.log10(rate)));
  return Number((Math.ceil(rate * digits - 1e-6) / digits).toPrecision(4));
}
