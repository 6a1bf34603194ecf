/** What the members' logs of a batch job must tell after all faults have ended. */
import { BatchRun } from "../../../../src/master/batch-jobs/run.ts";
import { batchDirectory, hasBatch, listBatches, readBatchEntries } from "../../../../src/store/jobs/batch-log.ts";
import type { BatchEntry } from "../../../../src/wire/batch-options.ts";
import type { MovingMinion } from "../minions/minion.ts";
import type { FaultMember, FaultSite } from "../site.ts";
import type { AskedBatch } from "./load.ts";

/** What is on its way to a minion when a member acknowledges that no more may start. */
export const underWayMs = 25_000;
const stepsMax = 128;

export function allBatches(site: FaultSite): string[] {
  return [...new Set(site.members.flatMap((member) => listBatches(directoryOf(member))))].sort();
}

/** @returns undefined if the member does not have it */
export function entriesOn(member: FaultMember, jid: string): BatchEntry[] | undefined {
  const directory = directoryOf(member);
  if (!hasBatch(directory, jid)) return undefined;
  return readBatchEntries(directory, jid, 0, Number.MAX_SAFE_INTEGER).map(({ entry }) => entry);
}

export function runOf(entries: readonly BatchEntry[]): BatchRun {
  const run = new BatchRun(stepsMax);
  for (const entry of entries) run.apply(entry);
  return run;
}

/** Faults in a log that is over: a second step for a minion, a step after the end or in a pause, and counts that do not fit. */
export function faultsIn(jid: string, entries: readonly BatchEntry[]): string[] {
  const faults: string[] = [];
  const started = new Set<string>();
  let isPaused = false;
  let ended: string | undefined;
  for (const entry of entries) {
    if (entry.kind === "pause") isPaused = true;
    if (entry.kind === "resume") isPaused = false;
    if (entry.kind === "abort") ended ??= "abort";
    if (entry.kind !== "start") continue;
    if (isPaused) faults.push(`batch job ${jid} started ${entry.ids} in a pause`);
    if (ended !== undefined) faults.push(`batch job ${jid} started ${entry.ids} after its ${ended}`);
    for (const id of entry.ids) {
      if (started.has(id)) faults.push(`batch job ${jid} has two steps for ${id}`);
      started.add(id);
    }
  }
  const done = entries.at(-1);
  if (done?.kind !== "done") return [...faults, `batch job ${jid} has no end`];
  const { counts } = runOf(entries);
  for (const [name, count] of Object.entries(counts))
    if (done[name as keyof typeof counts] !== count)
      faults.push(`batch job ${jid}: ${name} is not ${count} at its end`);
  if (done.outcome === "finished" && (counts.queued > 0 || counts.running > 0))
    faults.push(`batch job ${jid} has finished before all minions had their turn`);
  return faults;
}

/** Faults between a log and what minions were given, and what operators were told. */
export function faultsOf(
  batch: AskedBatch,
  entries: readonly BatchEntry[],
  minions: readonly MovingMinion[],
): string[] {
  const { label, controls } = batch;
  const faults: string[] = [];
  const steps = new Map<string, ReadonlySet<string>>();
  for (const entry of entries) if (entry.kind === "start") steps.set(entry.jid, new Set(entry.ids));
  const aborted = controls.find(({ action }) => action === "abort");
  for (const { id, jobs } of minions)
    for (const { jid, atMs } of jobs.runs.get(label) ?? []) {
      if (steps.get(jid)?.has(id) !== true)
        faults.push(`${id} was given ${label} as ${jid}, which its log does not have`);
      if (aborted !== undefined && atMs > aborted.doneMs + underWayMs)
        faults.push(`${id} was given ${label} ${Math.round(atMs - aborted.doneMs)} ms after its abort`);
    }
  for (const action of ["pause", "resume", "abort"] as const) {
    const told = controls.filter((one) => one.action === action).length;
    const written = entries.filter(({ kind }) => kind === action).length;
    if (told > written) faults.push(`${label}: ${action} was acknowledged ${told} times, and its log has ${written}`);
  }
  return faults;
}

function directoryOf({ master }: FaultMember): string {
  return batchDirectory(master.cacheDirectory);
}
