/**
 * Batch jobs for operators: lists, pauses, resumes and aborts them. The runner thread reads their logs, so that an operator who follows one does not
 * load the master's main thread. docs/decisions/0020-batches-in-the-master.md.
 */

import { hasCode, SaltworksError } from "../../errors.ts";
import { batchPageBytes } from "../../limits.ts";
import {
  type BatchSummary,
  batchDirectory,
  hasBatch,
  listBatches,
  type PlacedEntry,
  readBatchEntries,
  readBatchSummary,
} from "../../store/jobs/batch-log.ts";
import { allReturns, type StoredReturn } from "../../store/jobs/job-cache.ts";
import type { BatchEntry } from "../../wire/batch-options.ts";
import { startTimeText } from "../../wire/jid.ts";
import { decode } from "../../wire/msgpack.ts";
import { retcodeIn } from "../../wire/return.ts";
import { type Encodable, Packed, type ValueMap } from "../../wire/values.ts";
import type { RunnerContext, RunnerFunction, RunnerJobReader, RunningBatchCounts } from "../contract/contract.ts";
import { HeldReturns } from "./held-returns.ts";
import { requireOwner } from "./owner.ts";
import { fieldsOf } from "./stored-body.ts";

/** Entries of a batch job's log whose returns are read together. */
const entriesAtOnce = 64;

const jidParameter = { name: "jid", isRequired: true };

function jidIn(args: ValueMap): string {
  // A command line reads a job id as a number.
  return String(args.get("jid") ?? "").trim();
}

/** All batch jobs that run or have a log, newest last. */
async function batches(context: RunnerContext): Promise<Encodable> {
  const directory = batchDirectory(context.config.cachedir);
  const running = (await context.master?.batches()) ?? new Map<string, RunningBatchCounts>();
  const described = new Map<string, Encodable>();
  for (const jid of listBatches(directory)) {
    const summary = summaryOf(context, directory, jid);
    if (summary === undefined) continue;
    const { first, last } = summary;
    const counts = running.get(jid) ?? (last.kind === "done" ? { ...last, state: last.outcome } : undefined);
    described.set(jid, describe(first, counts));
  }
  return described;
}

/** Skips a log that is damaged or was just removed, so that it does not hide the others. */
function summaryOf(context: RunnerContext, directory: string, jid: string): BatchSummary | undefined {
  try {
    return readBatchSummary(directory, jid);
  } catch (error) {
    if (hasCode(error, "STORE_FAILED")) context.note?.(`Batch ${jid}: ${(error as Error).message}`);
    else if (!hasCode(error, "FUNCTION_ARGUMENTS")) throw error;
    return undefined;
  }
}

function describe(
  first: Extract<BatchEntry, { kind: "new" }>,
  counts: RunningBatchCounts | undefined,
): Map<string, Encodable> {
  const load = decode(Buffer.from(first.load, "base64")) as ValueMap;
  const described = new Map<string, Encodable>([
    ["Function", load.get("fun") ?? ""],
    ["Arguments", load.get("arg") ?? []],
    ["Target", load.get("tgt") ?? ""],
    ["Target-type", load.get("tgt_type") ?? ""],
    ["User", first.user],
    ["StartTime", startTimeText(first.jid)],
    ["Batch", first.size],
    // Neither over nor running: the master is down, or failed to resume it.
    ["State", counts?.state ?? "interrupted"],
  ]);
  if (counts === undefined) return described;
  const { minions, absent, queued, running, returned, failed, silent } = counts;
  for (const [name, count] of Object.entries({ minions, absent, queued, running, returned, failed, silent }))
    described.set(`${name.charAt(0).toUpperCase()}${name.slice(1)}`, count);
  return described;
}

const done = { pause: "paused", resume: "resumed", abort: "aborted" } as const;

function controlling(action: keyof typeof done, doc: string): RunnerFunction {
  return {
    parameters: [jidParameter],
    doc,
    run: async (context, args) => {
      const jid = jidIn(args);
      if (context.master === undefined)
        throw new SaltworksError("MASTER_UNREACHABLE", "batch jobs run in the master, which is not running");
      const outcome = await context.master.controlBatch({ action, jid });
      if (outcome === "unknown")
        throw new SaltworksError("JOB_UNKNOWN", `batch job ${jid} is not running; jobs.batches lists all`, { jid });
      if (outcome !== "changed")
        throw new SaltworksError("JOB_STATE", `Batch ${jid} cannot be ${done[action]}: it is ${outcome}.`, { jid });
      return `Batch ${jid} is ${done[action]}.`;
    },
  };
}

/** For callers without a terminal: the results so far. `saltworks run jobs.follow` shows them as they come. */
async function follow(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = jidIn(args);
  const shown = new Map<string, Encodable>();
  const held = new HeldReturns();
  for await (const { entry, body } of withBodies(context.jobs, batchEntriesOf(context, jid), (entry) => entry)) {
    if (entry.kind === "silent") for (const id of entry.ids) shown.set(id, null);
    if (entry.kind !== "return") continue;
    if (body !== undefined) held.add(body);
    shown.set(entry.id, body === undefined ? null : (fieldsOf(body).get("return") ?? null));
  }
  return shown;
}

export function isBatch({ config }: RunnerContext, jid: string): boolean {
  return hasBatch(batchDirectory(config.cachedir), jid);
}

/** The whole log, read page by page. @throws SaltworksError as `readBatchEntries` */
export function* batchEntriesOf({ config }: RunnerContext, jid: string): Generator<BatchEntry, void> {
  const directory = batchDirectory(config.cachedir);
  for (let offset = 0; ; ) {
    const part = readBatchEntries(directory, jid, offset, batchPageBytes.log);
    for (const { entry } of part) yield entry;
    const last = part.at(-1);
    if (last === undefined) return;
    offset = last.end;
  }
}

/** A part of a batch job's log with the returns that belong to it. */
async function page(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = jidIn(args);
  const directory = batchDirectory(context.config.cachedir);
  if (!hasBatch(directory, jid))
    throw new SaltworksError("FUNCTION_ARGUMENTS", `${jid} is not the job id of a batch job`, { jid });
  requireOwner(context, jid, readBatchSummary(directory, jid)?.first.user);
  // Must precede reading the log: otherwise a batch job that ends in between seems over while its last entries are unread.
  const isRunning = (await context.master?.batches())?.has(jid) === true;
  const offset = Number(args.get("offset") ?? 0);
  const placed = readBatchEntries(directory, jid, offset, batchPageBytes.log);
  return { isRunning, entries: await withReturns(context, placed) };
}

async function withReturns({ jobs }: RunnerContext, placed: readonly PlacedEntry[]): Promise<Encodable[]> {
  const told: Encodable[] = [];
  let bytes = 0;
  for await (const { entry: at, body } of withBodies(jobs, placed, ({ entry }) => entry)) {
    const { offset, end, entry } = at;
    const fields = new Map<string, Encodable>(Object.entries(entry).filter(([name]) => name !== "load"));
    fields.set("offset", offset).set("end", end);
    if (body !== undefined) {
      bytes += body.length;
      if (bytes > batchPageBytes.returns && told.length > 0) break;
      fields.set("body", new Packed(body));
    }
    told.push(fields);
  }
  return told;
}

type WithBody<Entry> = { readonly entry: Entry; readonly body: Uint8Array | undefined };

/** Each entry with its return. Reads the returns of several entries together, because each query of the store reads the log of the newest returns. */
async function* withBodies<Entry>(
  jobs: RunnerJobReader,
  entries: Iterable<Entry>,
  entryIn: (entry: Entry) => BatchEntry,
): AsyncGenerator<WithBody<Entry>, void> {
  let waiting: Entry[] = [];
  for (const entry of entries) {
    waiting.push(entry);
    if (waiting.length < entriesAtOnce) continue;
    yield* bodiesOf(jobs, waiting, entryIn);
    waiting = [];
  }
  yield* bodiesOf(jobs, waiting, entryIn);
}

async function* bodiesOf<Entry>(
  jobs: RunnerJobReader,
  entries: readonly Entry[],
  entryIn: (entry: Entry) => BatchEntry,
): AsyncGenerator<WithBody<Entry>, void> {
  const idsByJob = new Map<string, string[]>();
  for (const entry of entries.map(entryIn)) {
    if (entry.kind === "return") idsByJob.set(entry.jid, [...(idsByJob.get(entry.jid) ?? []), entry.id]);
  }
  const found = new Map<string, { readonly bodies: Map<string, Uint8Array>; readonly hasMore: boolean }>();
  for (const [jid, of] of idsByJob) {
    const { returns, hasMore } = await jobs.returns(jid, { limit: of.length, bytesMax: batchPageBytes.returns, of });
    found.set(jid, { bodies: new Map(returns.map(({ minionId, body }) => [minionId, body])), hasMore });
  }
  const bodyOf = async (jid: string, id: string) => {
    const { bodies, hasMore } = found.get(jid) ?? { bodies: new Map<string, Uint8Array>(), hasMore: false };
    return bodies.get(id) ?? (hasMore ? await jobs.returnOf(jid, id) : undefined);
  };
  for (const entry of entries) {
    const told = entryIn(entry);
    yield { entry, body: told.kind === "return" ? await bodyOf(told.jid, told.id) : undefined };
  }
}

/** The returns of a batch job are the returns of its steps; none are stored under its own job id. */
export async function* returnsOf(
  context: RunnerContext,
  jobs: RunnerJobReader,
  jid: string,
): AsyncGenerator<StoredReturn, void> {
  if (!isBatch(context, jid)) return yield* allReturns(jobs, jid);
  for (const entry of batchEntriesOf(context, jid)) if (entry.kind === "start") yield* allReturns(jobs, entry.jid);
}

/** The highest exit code of each stored return of a job, by minion. */
async function retcodes(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const found = new Map<string, Encodable>();
  for await (const { minionId, body } of allReturns(context.jobs, jidIn(args))) found.set(minionId, retcodeIn(body));
  return found;
}

export const batchesRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "jobs.batches",
    {
      parameters: [],
      doc: "Batch jobs that run or have a log, with their state and the number of minions that have returned.",
      isOffline: true,
      run: batches,
    },
  ],
  [
    "jobs.follow",
    {
      parameters: [jidParameter],
      doc: "Shows a batch job as `salt -b` does: its results so far, then each further result until it is over.",
      isOffline: true,
      run: follow,
    },
  ],
  ["jobs.pause", controlling("pause", "Pauses a batch job: starts no more minions; running minions continue.")],
  ["jobs.resume", controlling("resume", "Resumes a paused batch job.")],
  ["jobs.abort", controlling("abort", "Ends a batch job: starts no more minions, and waits for running ones.")],
]);

export const batchesWheel: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "saltworks.batch",
    {
      parameters: [jidParameter, { name: "offset", isRequired: false }],
      doc: "A part of a batch job's log, from an offset on.",
      run: page,
    },
  ],
  [
    "saltworks.retcodes",
    {
      parameters: [jidParameter],
      doc: "The highest exit code of each stored return of a job, by minion id.",
      run: retcodes,
    },
  ],
]);
