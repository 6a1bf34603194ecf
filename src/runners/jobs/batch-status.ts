/** A batch job's state on each minion, for `jobs.status`: read from its log, and from the master for running steps. */
import type { BatchEntry } from "../../wire/batch-options.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { JobStatus, JobStatusQuestion, MinionStatus, RunnerContext } from "../contract/contract.ts";
import { firstById, minionFilter } from "../contract/minion-pages.ts";
import { batchEntriesOf, isBatch } from "./batches.ts";

type Found = { readonly state: string; readonly atMs: number; readonly reason: string | undefined };
type Told = {
  plan: Extract<BatchEntry, { kind: "new" }> | undefined;
  done: Extract<BatchEntry, { kind: "done" }> | undefined;
  readonly minions: Map<string, Found>;
  /** Minions without a result yet, each with the job id of its step. */
  readonly open: Map<string, string>;
};

const noPing = "it did not answer the ping that began the batch job";

/** @returns undefined if the job is not a batch job. @throws SaltworksError STORE_FAILED, TARGET_INVALID for a bad glob */
export async function batchStatus(context: RunnerContext, question: JobStatusQuestion): Promise<JobStatus | undefined> {
  const { jid, countMax } = question;
  if (!isBatch(context, jid)) return undefined;
  const told = readLog(context, jid);
  if (told.plan === undefined) return undefined;
  if (told.minions.size === 0) {
    const expected = (await context.jobs.job(jid))?.minions ?? [];
    const reason = "the ping that begins the batch job is not over";
    for (const id of expected) told.minions.set(id, { state: "targeted", atMs: told.plan.at, reason });
  }
  if (told.done === undefined) await askMaster(context, told);
  else noteEnd(told.minions, told.done);
  const isWanted = minionFilter(question);
  const counts = { targeted: 0, sent: 0, running: 0, returned: 0, failed: 0, lost: 0 };
  const wanted: MinionStatus[] = [];
  for (const [id, found] of told.minions) {
    counts[found.state as keyof typeof counts] += 1;
    const one = { id, ...found };
    if (isWanted(one)) wanted.push(one);
  }
  const hasReturned = (one: MinionStatus) => one.state === "returned" || one.state === "failed";
  if (question.after === undefined)
    wanted.sort((a, b) => Number(hasReturned(a)) - Number(hasReturned(b)) || (a.id < b.id ? -1 : 1));
  return {
    fun: funOf(told.plan),
    sentMs: told.plan.at,
    overMs: told.done?.at,
    counts,
    minions:
      question.after === undefined ? firstById(wanted.slice(0, countMax), countMax) : firstById(wanted, countMax),
    omitted: Math.max(0, wanted.length - countMax),
    unknown: new Map(),
    waitsUntilMs: undefined,
  };
}

function funOf({ load }: Extract<BatchEntry, { kind: "new" }>): string {
  const fun = (decode(Buffer.from(load, "base64")) as ValueMap).get("fun");
  return Array.isArray(fun) ? fun.join(",") : String(fun ?? "");
}

function readLog(context: RunnerContext, jid: string): Told {
  const told: Told = { plan: undefined, done: undefined, minions: new Map(), open: new Map() };
  for (const entry of batchEntriesOf(context, jid)) note(told, entry);
  return told;
}

function note(told: Told, entry: BatchEntry): void {
  const { minions, open } = told;
  const atMs = told.plan?.at ?? 0;
  switch (entry.kind) {
    case "new":
      told.plan = entry;
      break;
    case "queue":
      for (const id of entry.ids) minions.set(id, { state: "targeted", atMs, reason: "its turn has not come" });
      for (const id of entry.absent) minions.set(id, { state: "lost", atMs, reason: noPing });
      break;
    case "late":
      minions.set(entry.id, { state: "targeted", atMs, reason: "its turn has not come" });
      break;
    case "start":
      for (const id of entry.ids) {
        minions.set(id, { state: "sent", atMs: entry.at, reason: undefined });
        open.set(id, entry.jid);
      }
      break;
    case "return":
      minions.set(entry.id, { state: entry.retcode > 0 ? "failed" : "returned", atMs: entry.at, reason: undefined });
      open.delete(entry.id);
      break;
    case "silent":
      for (const id of entry.ids) {
        minions.set(id, { state: "lost", atMs: entry.at, reason: `it did not return; see jobs.status ${entry.jid}` });
        open.delete(id);
      }
      break;
    case "done":
      told.done = entry;
      break;
    default:
  }
}

/** For running steps the master knows more than the log. */
async function askMaster({ master }: RunnerContext, { minions, open }: Told): Promise<void> {
  for (const jid of new Set(open.values())) {
    const countMax = Number.MAX_SAFE_INTEGER;
    const step = await master?.jobStatus({ jid, minion: undefined, state: undefined, countMax });
    for (const { id, ...found } of step?.minions ?? []) if (open.get(id) === jid) minions.set(id, found);
  }
}

/**
 * The state of minions after the end of the batch job: a minion without a turn will not get one. After failhard, minions that have the job continue.
 */
function noteEnd(minions: Map<string, Found>, { outcome }: Extract<BatchEntry, { kind: "done" }>): void {
  const reason = `the batch job ended before its turn: ${outcome}`;
  for (const [id, found] of minions) {
    if (found.state === "targeted") minions.set(id, { ...found, reason });
    if (found.state === "sent") minions.set(id, { ...found, reason: `the batch job did not wait for it: ${outcome}` });
  }
}
