/** What must hold of batch jobs and waiting jobs after all faults have ended: none hangs, and no minion was given one twice. */
import { isDeepStrictEqual } from "node:util";
import type { Value } from "../../../../src/wire/values.ts";
import { pairs } from "../../../fault/chaos/told.ts";
import type { CheckedRun } from "../check.ts";
import { untilNone } from "../check.ts";
import type { MovingMinion } from "../minions/minion.ts";
import type { FaultMember, FaultSite } from "../site.ts";
import { allBatches, entriesOn, faultsIn, faultsOf, runOf, underWayMs } from "./batch-logs.ts";
import type { AskedBatch, AskedWait, OwnedLoad } from "./load.ts";

/** With a lease that has to end first. */
const batchesEndMs = 180_000;
const waitsEndMs = 120_000;
const namedMax = 5;
const resumedText = "a batch job is resumed";
const stoppedText = "a batch job stops after an error";
const told = {
  "leases ended": "this member's lease has ended",
  "batch jobs taken over": resumedText,
  "waiting jobs taken over": "goes on with a job that waits",
  "batch jobs lost to another": "another member goes on with a batch job",
  "batch jobs stopped by an error": stoppedText,
} as const;

export async function checkOwned(
  site: FaultSite,
  load: OwnedLoad,
  minions: readonly MovingMinion[],
): Promise<CheckedRun> {
  const stopped = new Set<string>();
  const open = await untilNone(() => openBatches(site, load, stopped), batchesEndMs);
  const missing = await untilNone(() => load.waits.flatMap((wait) => lackOf(wait, minions)), waitsEndMs);
  const listed = await untilNone(() => differentLists(site));
  const outcomes = new Map<string, number>();
  const faults = allBatches(site).flatMap((jid) => {
    const entries = site.members.flatMap((member) => [entriesOn(member, jid) ?? []])[0] ?? [];
    const last = entries.at(-1);
    const outcome = last?.kind === "done" ? last.outcome : "open";
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const asked = load.batches.find((one) => one.jid === jid);
    return outcome === "open" ? [] : [...faultsIn(jid, entries), ...(asked ? faultsOf(asked, entries, minions) : [])];
  });
  const lost = load.batches.filter(({ jid }) => jid !== undefined && !allBatches(site).includes(jid));
  return {
    faults: [
      ...[...open, ...short(missing), ...listed, ...faults],
      ...lost.map(({ label, jid }) => `no member has the acknowledged ${label}, ${jid}`),
      ...load.batches.flatMap((batch) => doubled(batch, minions)),
      ...load.waits.flatMap((wait) => [...doubled(wait, minions), ...lateRuns(wait, minions)]),
    ],
    figures: figuresOf(site, load, minions, outcomes),
  };
}

/** Batch jobs that are not over on each member with the same log. Resumes the ones that rest, and aborts what stopped after an error. */
async function openBatches(site: FaultSite, load: OwnedLoad, stopped: Set<string>): Promise<string[]> {
  const open: string[] = [];
  for (const jid of allBatches(site)) {
    const copies = site.members.map((member) => entriesOn(member, jid));
    const states = copies.map((entries) => (entries === undefined ? "not there" : runOf(entries).state));
    const isOver = copies.every((entries) => entries?.at(-1)?.kind === "done");
    if (isOver && copies.every((entries) => isDeepStrictEqual(entries, copies[0]))) continue;
    const label = load.batches.find((one) => one.jid === jid)?.label ?? "a batch job without an answer";
    open.push(`${label}, ${jid}, does not end: ${isOver ? "its logs differ" : states.join(", ")}`);
    if (states.includes("paused")) await command(site.member(0), "jobs.resume", jid);
    for (const member of site.members.filter(({ log }) => hasStopped(log, jid))) {
      stopped.add(jid);
      await command(member, "jobs.abort", jid);
    }
  }
  return open;
}

function hasStopped(log: string, jid: string): boolean {
  return log.split("\n").some((line) => line.includes(stoppedText) && line.includes(`"batch":"${jid}"`));
}

/** @returns undefined if the member does not do it */
async function command(member: FaultMember, fun: string, ...args: readonly string[]): Promise<Value | undefined> {
  const client = member.client();
  try {
    const { isSuccess, value } = await client.runner(fun, args);
    return isSuccess ? value : undefined;
  } catch {
    return undefined;
  } finally {
    client.close();
  }
}

/** All members show the same batch jobs, and no job that waits, because all minions are there. */
async function differentLists(site: FaultSite): Promise<string[]> {
  const batches = await Promise.all(site.members.map((member) => command(member, "jobs.batches")));
  const waiting = await Promise.all(site.members.map((member) => command(member, "jobs.pending")));
  const faults = batches.every((list) => list !== undefined && isDeepStrictEqual(list, batches[0]))
    ? []
    : [`the members list other batch jobs: ${batches.map((list) => (list instanceof Map ? list.size : "none"))}`];
  for (const [at, list] of waiting.entries())
    if (!(list instanceof Map) || list.size > 0)
      faults.push(
        `${site.member(at).name} lists as waiting ${list instanceof Map ? [...list.keys()].join(", ") : "nothing"}`,
      );
  return faults;
}

/** Minions that an acknowledged waiting job was not sent to. */
function lackOf({ label, jid, minions: wanted, isCancelled }: AskedWait, minions: readonly MovingMinion[]): string[] {
  if (jid === undefined || isCancelled) return [];
  const lacking = minions.filter(({ id, jobs }) => wanted.includes(id) && !jobs.runs.has(label)).map(({ id }) => id);
  return lacking.length === 0 ? [] : [`${label}, ${jid}, was not sent to ${lacking.join(", ")}`];
}

function doubled({ label }: AskedBatch | AskedWait, minions: readonly MovingMinion[]): string[] {
  return minions.flatMap(({ id, jobs }) => {
    const jids = (jobs.runs.get(label) ?? []).map(({ jid }) => jid);
    return jids.length > 1 ? [`${id} ran ${label} ${jids.length} times: ${jids.join(", ")}`] : [];
  });
}

function lateRuns({ label, withdrawn }: AskedWait, minions: readonly MovingMinion[]): string[] {
  return withdrawn.flatMap(({ ids, doneMs }) =>
    minions
      .filter(({ id, jobs }) => ids.includes(id) && (jobs.runs.get(label)?.[0]?.atMs ?? 0) > doneMs + underWayMs)
      .map(({ id }) => `${id} was given ${label} after it was withdrawn`),
  );
}

function short(faults: readonly string[]): string[] {
  const more = faults.length - namedMax;
  return more > 0 ? [...faults.slice(0, namedMax), `and ${more} more like the last`] : [...faults];
}

function figuresOf(
  site: FaultSite,
  { batches, waits, done }: OwnedLoad,
  minions: readonly MovingMinion[],
  outcomes: ReadonlyMap<string, number>,
): string[] {
  const runsOf = (label: string) => minions.filter(({ jobs }) => jobs.runs.has(label)).length;
  const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
  const counted = (all: readonly (AskedBatch | AskedWait)[]) => {
    const [begun, refused] = [all.filter(({ jid }) => jid), all.filter(({ refusedMs }) => refusedMs)];
    const ranRefused = refused.filter(({ label }) => runsOf(label) > 0).length;
    const silent = all.length - begun.length - refused.length;
    const runs = sum(all.map(({ label }) => runsOf(label)));
    return `${begun.length} begun, ${refused.length} refused (of which ${ranRefused} ran), ${silent} without an answer, ${runs} runs`;
  };
  const logs = site.members.map(({ log }) => log).join("\n");
  const events = Object.entries(told).map(([name, text]) => [name, logs.split(text).length - 1] as const);
  const total = (name: "repeated" | "resent" | "forgotten") => sum(minions.map(({ jobs }) => jobs.counters[name]));
  return [
    `batch jobs: ${counted(batches)}; ends: ${pairs(outcomes)}`,
    `waiting jobs: ${counted(waits)}; commands done: ${pairs(done)}`,
    `${pairs(new Map(events))}`,
    `minions were away ${sum(minions.map(({ counters }) => counters.away))} times, and dropped ${total("repeated")} jobs that they had had: ${total("resent")} with an owner, ${total("forgotten")} of more than 100 jobs before`,
  ];
}
