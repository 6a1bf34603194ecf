/**
 * Batches for operators: which there are, and pausing, resuming and aborting them. Their log is read here, so that whoever follows one
 * costs the master's main thread nothing. docs/decisions/0020-batches-in-the-master.md.
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
import type { BatchEntry } from "../../wire/batch-options.ts";
import { startTimeText } from "../../wire/jid.ts";
import { decode } from "../../wire/msgpack.ts";
import { type Encodable, Packed, type ValueMap } from "../../wire/values.ts";
import type {
  JobReader,
  RunnerContext,
  RunnerFunction,
  RunningBatchCounts,
  StoredReturn,
} from "../contract/contract.ts";
import { requireOwner } from "./owner.ts";
import { fieldsOf } from "./stored-body.ts";

const jidParameter = { name: "jid", isRequired: true };

function jidIn(args: ValueMap): string {
  // A job id is a number to whoever reads the words of a command line.
  return String(args.get("jid") ?? "").trim();
}

/** Every batch that runs or whose log is kept, newest last. */
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

/** A log that is damaged, or has just been removed, must not hide the others. */
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
    // Neither over nor running: its master is down, or could not go on with it.
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
        throw new SaltworksError("MASTER_UNREACHABLE", "batches run in the master, which is not running");
      const outcome = await context.master.controlBatch({ action, jid });
      if (outcome === "unknown")
        throw new SaltworksError("FUNCTION_ARGUMENTS", `no batch ${jid} is running; jobs.batches lists all`, { jid });
      return outcome === "changed"
        ? `Batch ${jid} is ${done[action]}.`
        : `Batch ${jid} cannot be ${done[action]}: it is ${outcome}.`;
    },
  };
}

/** For callers without a terminal: what is known by now. `saltworks run jobs.follow` shows it as it happens. */
async function follow(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = jidIn(args);
  const returns = new StoredReturns(context);
  const shown = new Map<string, Encodable>();
  for (const entry of batchEntriesOf(context, jid)) {
    if (entry.kind === "silent") for (const id of entry.ids) shown.set(id, null);
    if (entry.kind !== "return") continue;
    const body = returns.of(entry.jid, entry.id);
    shown.set(entry.id, body === undefined ? null : (fieldsOf(body).get("return") ?? null));
  }
  return shown;
}

export function isBatch({ config }: RunnerContext, jid: string): boolean {
  return hasBatch(batchDirectory(config.cachedir), jid);
}

/** Its whole log, read a part at a time. @throws SaltworksError as `readBatchEntries` */
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

/** A part of a batch's log with the returns that belong to it. */
async function page(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = jidIn(args);
  const directory = batchDirectory(context.config.cachedir);
  if (!hasBatch(directory, jid))
    throw new SaltworksError("FUNCTION_ARGUMENTS", `${jid} is not the job id of a batch`, { jid });
  requireOwner(context, jid, readBatchSummary(directory, jid)?.first.user);
  // Asked first: a batch that ends in between is not told to be over before its last entry is read.
  const isRunning = (await context.master?.batches())?.has(jid) === true;
  const offset = Number(args.get("offset") ?? 0);
  return { isRunning, entries: withReturns(context, readBatchEntries(directory, jid, offset, batchPageBytes.log)) };
}

function withReturns(context: RunnerContext, placed: readonly PlacedEntry[]): Encodable[] {
  const returns = new StoredReturns(context);
  const told: Encodable[] = [];
  let bytes = 0;
  for (const { offset, end, entry } of placed) {
    const fields = new Map<string, Encodable>(Object.entries(entry).filter(([name]) => name !== "load"));
    fields.set("offset", offset).set("end", end);
    const body = entry.kind === "return" ? returns.of(entry.jid, entry.id) : undefined;
    if (body !== undefined) {
      bytes += body.length;
      if (bytes > batchPageBytes.returns && told.length > 0) break;
      fields.set("body", new Packed(body));
    }
    told.push(fields);
  }
  return told;
}

/** A step's returns are read together: each look reads the log of what came in last. */
class StoredReturns {
  readonly #context: RunnerContext;
  #jid = "";
  #found = new Map<string, StoredReturn>();

  constructor(context: RunnerContext) {
    this.#context = context;
  }

  of(jid: string, id: string): Uint8Array | undefined {
    if (this.#jid !== jid) {
      this.#jid = jid;
      this.#found = new Map(this.#context.jobs.getReturns(jid).map((stored) => [stored.minionId, stored]));
    }
    return this.#found.get(id)?.body;
  }
}

/** A batch has no returns under its own job id: those of its steps are its. */
export function returnsOf(context: RunnerContext, jobs: JobReader, jid: string): readonly StoredReturn[] {
  if (!isBatch(context, jid)) return jobs.getReturns(jid);
  const returns: StoredReturn[] = [];
  for (const entry of batchEntriesOf(context, jid))
    if (entry.kind === "start") returns.push(...jobs.getReturns(entry.jid));
  return returns;
}

/** Exit codes of what is stored of a job, by minion. */
function retcodes(context: RunnerContext, args: ValueMap): Encodable {
  const found = new Map<string, Encodable>();
  for (const { minionId, body } of context.jobs.getReturns(jidIn(args)))
    found.set(minionId, fieldsOf(body).get("retcode") ?? 0);
  return found;
}

export const batchesRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "jobs.batches",
    {
      parameters: [],
      doc: "Batches that run, and those whose record is kept, with their state and how many minions have returned.",
      isOffline: true,
      run: batches,
    },
  ],
  [
    "jobs.follow",
    {
      parameters: [jidParameter],
      doc: "Shows a batch as the command that began it: what has happened, and what happens until it is over.",
      isOffline: true,
      run: follow,
    },
  ],
  ["jobs.pause", controlling("pause", "Starts no more minions of a batch; those that run go on.")],
  ["jobs.resume", controlling("resume", "Goes on with a batch that was paused.")],
  ["jobs.abort", controlling("abort", "Starts no more minions of a batch, for good; those that run are waited for.")],
]);

export const batchesWheel: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "saltworks.batch",
    {
      parameters: [jidParameter, { name: "offset", isRequired: false }],
      doc: "A part of a batch's record, from an offset on.",
      run: page,
    },
  ],
  [
    "saltworks.retcodes",
    {
      parameters: [jidParameter],
      doc: "Exit codes of a job's returns as they are stored, by minion id.",
      run: retcodes,
    },
  ],
]);
