/**
 * The thread of a worker: opens its stores at the first task, then answers tasks. The error of one request goes into
 * its reply. Any other error fails the task.
 */
import { join } from "node:path";
import { isMainThread, workerData } from "node:worker_threads";
import { openedSealCount } from "../crypto/crypticle.ts";
import { SaltworksError } from "../errors.ts";
import { idleCiphersMs, noCacheJobsMax } from "../limits.ts";
import { diskFaultCounts, diskFaultKinds } from "../store/disk/faults.ts";
import { openJobCacheWriter } from "../store/drivers/open-job-cache.ts";
import { type Autosign, openAutosign } from "../store/keys/autosign.ts";
import { takeKeepMark } from "../store/keys/keep-marks.ts";
import { openKeyDirectories } from "../store/keys/keys.ts";
import { markTransactions } from "../store/lmdb/transaction-marks.ts";
import { openMinionData } from "../store/minions/data.ts";
import { sharedMinions } from "../store/minions/shared-minions.ts";
import { MirrorQueue } from "../store/salt/mirror-queue.ts";
import { mirroredMinions } from "../store/salt/mirrored-minions.ts";
import { openSecretBox } from "../store/secrets/sealed.ts";
import { encode } from "../wire/msgpack.ts";
import { Packed } from "../wire/values.ts";
import { asError, runBatch } from "./batch/run-batch.ts";
import { sealReply } from "./batch/seal-reply.ts";
import { Matcher } from "./match/match.ts";
import { findMines, readMines } from "./match/mine-read.ts";
import { collectWhenIdle } from "./measures/idle-collection.ts";
import type { MemberReturnsTask, RepairAnswer, RepairTask } from "./messages/member-returns.ts";
import type { TrimAnswer, WorkerStart, WorkerTask } from "./messages/worker.ts";
import { takeMemberReturns } from "./returns/member-returns.ts";
import { ReturnRepair } from "./returns/repair.ts";
import { ClusterReturns } from "./state/cluster-returns.ts";
import { forgetFacts } from "./state/forget-facts.ts";
import { type ShareSite, shareMinions } from "./state/share-minions.ts";
import { WorkerState } from "./state/worker-state.ts";
import { nameThread } from "./threads/name.ts";
import { failed, transferring } from "./threads/worker-pool.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/entry.ts runs in a worker thread only");

const start = workerData as WorkerStart;
markTransactions(start.transactions);
/** The first task sets these: see `openOnce`. */
let worker: WorkerState;
let autosign: Autosign;
let matcher: Matcher;
/** Only in a cluster. */
let sharing: ShareSite | undefined;
/** Faults that the next `counters` task returns. A worker has no log of its own. Further faults are dropped. */
const faultsKeptMax = 20;
const faults: string[] = [];

async function openWorkerState(from: WorkerStart): Promise<WorkerState> {
  const { config, mirrorQueueFile } = from;
  const queue = mirrorQueueFile === undefined ? undefined : new MirrorQueue(mirrorQueueFile);
  const isShared = from.clusterSessionKey !== undefined;
  const own = openMinionData({ path: join(config.cachedir, "minions.lmdb"), isShared, onFault: noteFault });
  const minions = queue === undefined ? own : mirroredMinions(own, queue, noteFault);
  const { marks } = own;
  const stores = {
    jobs: openJobCacheWriter(config, { queue, onFault: noteFault }),
    minions: marks === undefined ? minions : sharedMinions(minions, marks),
    keys: openKeyDirectories(config.pki_dir),
    box: openSecretBox(from.masterPrivatePem, join(config.pki_dir, ".seal-salt")),
  };
  const opened = new WorkerState(from, stores, from.cluster && (await ClusterReturns.open(from.cluster, noteFault)));
  sharing = marks && { owner: opened, minions, marks };
  for (const jid of (await stores.jobs.unkeptJobs()).slice(-noCacheJobsMax)) opened.noteNoCache(jid);
  return opened;
}

/**
 * Opens the stores. The first task calls it, not the start of the thread, because Piscina never replaces a thread that fails as it starts.
 * If it fails, the task fails, and the next task tries again.
 */
async function open(): Promise<void> {
  const opened = await openWorkerState(start);
  autosign = openAutosign(start.config);
  matcher = new Matcher(opened);
  worker = opened;
  const idleCollection = collectWhenIdle();
  setInterval(() => {
    worker.fileAnswers.forgetOld(performance.now());
    if (worker.restSessions() > 0) idleCollection.want();
  }, idleCiphersMs).unref();
}

function noteFault(error: Error): void {
  if (faults.length < faultsKeptMax) faults.push(error.stack ?? error.message);
}

let opening: Promise<void> | undefined;

/** All tasks that come while the stores are being opened share one try. */
function openOnce(): Promise<void> {
  opening ??= open().finally(() => {
    opening = undefined;
  });
  return opening;
}

/** Changes that came while the stores could not be opened, in order. They are applied before the next task. */
const missed: ChangeTask[] = [];
type ChangeTask = Extract<WorkerTask, { kind: "masterKeys" | "minionKeys" | "presencePing" }>;

/** Keeps a change whose task fails because the stores cannot be opened. Its caller may repeat the task, because each change is idempotent. */
function keepMissed(task: WorkerTask): void {
  if (task.kind !== "masterKeys" && task.kind !== "minionKeys" && task.kind !== "presencePing") return;
  const sameKind = missed.findIndex(({ kind }) => kind === task.kind);
  const earlier = sameKind === -1 ? undefined : missed.splice(sameKind, 1)[0];
  missed.push(earlier?.kind === "minionKeys" && task.kind === "minionKeys" ? joined(earlier, task) : task);
}

/** Joins two changes of minions' keys into one, so that the list holds at most one entry per id. */
function joined(earlier: KeyTask, later: KeyTask): KeyTask {
  const without = (ids: readonly string[], others: readonly string[]) => ids.filter((id) => !others.includes(id));
  return {
    ...later,
    added: [...new Set([...without(earlier.added, later.removed), ...later.added])],
    removed: [...new Set([...without(earlier.removed, later.added), ...later.removed])],
    changed: [...new Set([...without(earlier.changed, later.removed), ...later.changed])],
  };
}

type KeyTask = Extract<WorkerTask, { kind: "minionKeys" }>;

let catchingUp: Promise<void> | undefined;

/** All tasks that come meanwhile wait for the same promise, so that no task overtakes the missed changes. */
function caughtUp(): Promise<void> {
  catchingUp ??= catchUp().finally(() => {
    catchingUp = undefined;
  });
  return catchingUp;
}

/** Applies the missed changes. A change that fails stays in the list, with all later ones. */
async function catchUp(): Promise<void> {
  for (let [task] = missed; task !== undefined; [task] = missed) {
    if (task.kind === "masterKeys") worker.useMasterKeys(task.keys);
    else if (task.kind === "minionKeys") await updateMinionKeys(task);
    else worker.notePresencePing(task.jid);
    missed.shift();
  }
}

/** @returns this worker's ids whose key file now holds another key than the one that the worker served */
async function updateMinionKeys(task: Extract<WorkerTask, { kind: "minionKeys" }>): Promise<string[]> {
  for (const id of task.added) start.accepted.add(id);
  for (const id of task.removed) start.accepted.delete(id);
  worker.facts.noteKeys(
    task.added.filter((id) => worker.owns(id)),
    task.removed,
  );
  const replaced = [...task.added, ...task.changed].filter((id) => worker.owns(id) && worker.isReplaced(id));
  const owned = [...task.removed.filter((id) => worker.owns(id)), ...replaced];
  const { preserve_minion_cache: isDataKept, cachedir } = start.config;
  const removed = new Set(task.removed);
  const isGone = (id: string) => removed.has(id) && !takeKeepMark(cachedir, id) && !isDataKept;
  const forgotten = await Promise.allSettled(owned.map((id) => worker.forget(id, isGone(id))));
  // A failure here must not hide which keys were replaced. The next start drops records that could not be removed.
  for (const step of forgotten) if (step.status === "rejected") noteFault(asError(step.reason));
  return replaced;
}

/** Removes jobs that are older than `olderThanJid`, and the oldest beyond `keep`. */
async function trim({ olderThanJid, keep, stepsMax }: Extract<WorkerTask, { kind: "trim" }>): Promise<TrimAnswer> {
  const { removed, hasMore } = await worker.stores.jobs.trim({ olderThanJid, keep, stepsMax });
  return { removed, hasMore };
}

/** Stores the load and the return of a runner call. */
async function putCalls({ id, calls }: Extract<WorkerTask, { kind: "putCalls" }>): Promise<void> {
  const { jobs } = worker.stores;
  await jobs.keepJobs(calls.map(({ jid, load }) => ({ jid, load, minions: [] })));
  await jobs.keepReturns(calls.map(({ jid, body }) => ({ jid, minionId: id, body })));
}

async function putLoad(task: Extract<WorkerTask, { kind: "putLoad" }>): Promise<void> {
  const { jid, load, missing, isNoCache } = task;
  const minions = new Packed(...task.minions);
  await worker.stores.jobs.keepJobs([{ jid, load, minions, missing, isNoCache }]);
}

/** Keeps a minion's grains and pillar. Does nothing if its key was removed while its pillar was rendered. */
async function keepFacts({ id, grains, pillar }: Extract<WorkerTask, { kind: "keepFacts" }>): Promise<void> {
  if (!worker.isAccepted(id)) return;
  await worker.facts.keep(id, grains, pillar ?? worker.facts.stored(id)?.pillar ?? emptyMap);
}

const emptyMap = encode(new Map(), "bin");

/** Disk faults of this thread. */
function diskCounters(): Readonly<Record<string, number>> {
  return Object.fromEntries(diskFaultKinds.map((kind) => [`disk.${kind}`, diskFaultCounts()[kind]]));
}

let repair: ReturnRepair | undefined;
let seat: number | undefined;

/** Notes the thread's slot, which the first task names. The thread serves it until it ends. */
function takeSeat(slot: number): void {
  if (seat === slot) return;
  seat = slot;
  worker.slot = slot;
  nameThread(`sw-worker-${slot}`);
}

/** A kept list is in shared memory, which cannot be transferred. */
function matched(task: Extract<WorkerTask, { kind: "match" }>): unknown {
  const answer = matcher.match(task);
  const memory = answer.state === "ready" ? answer.ids.buffer : undefined;
  return memory instanceof ArrayBuffer ? transferring(answer, memory) : answer;
}

export default async function handle(task: WorkerTask): Promise<unknown> {
  try {
    if (worker === undefined) await openOnce();
    if (missed.length > 0 || catchingUp !== undefined) await caughtUp();
  } catch (error) {
    keepMissed(task);
    return failed(error instanceof SaltworksError ? error : new SaltworksError("STORE_FAILED", String(error)));
  }
  takeSeat(task.slot);
  switch (task.kind) {
    case "batch": {
      const result = await runBatch(worker, autosign, task, noteFault);
      return transferring(result, result.buffer);
    }
    case "match":
      return matched(task);
    case "putLoad":
      return putLoad(task);
    case "putCalls":
      return putCalls(task);
    case "noCache":
      return worker.noteNoCache(task.jid);
    case "keepFacts":
      return keepFacts(task);
    case "forgetFacts":
      return forgetFacts(worker, task);
    case "shareMinions":
      return sharing === undefined ? undefined : shareMinions(sharing, task.ask);
    case "mineFind": {
      const found = findMines(worker, matcher.match(task.match), task);
      const slice = found.state === "ready" ? found.slice : undefined;
      return slice?.state === "read" ? transferring(found, slice.pairs.buffer) : found;
    }
    case "mineRead": {
      const slice = readMines(worker, task);
      return slice.state === "read" ? transferring(slice, slice.pairs.buffer) : slice;
    }
    case "sealReply":
      return sealReply(worker, task);
    case "seal":
      return worker.current.seal(task.packed);
    case "masterKeys":
      return worker.useMasterKeys(task.keys);
    case "minionKeys":
      return updateMinionKeys(task);
    case "presencePing":
      return worker.notePresencePing(task.jid);
    case "whichReturned":
      return worker.stores.jobs.whichReturned(task.jid, task.ids);
    case "trim":
      return trim(task);
    case "memberReturns":
      return memberReturns(task);
    case "repairReturns":
      return repairReturns(task);
    case "counters":
      return { counters: { ...gauges(), openedSeals: openedSealCount() }, faults: faults.splice(0) };
    case "measures":
      return worker.meter.read(gauges());
    case "close":
      return closeStores();
    default: {
      const never: never = task;
      throw new SaltworksError("WIRE_MALFORMED", `unknown task ${String(never)}`);
    }
  }
}

function gauges(): Record<string, number> {
  return { ...worker.counters, ...matcher.gauges, ...diskCounters(), ...worker.cluster?.counters };
}

async function memberReturns(task: MemberReturnsTask): Promise<object> {
  const result = await takeMemberReturns(worker, task);
  return transferring(result, result.buffer);
}

async function repairReturns(task: RepairTask): Promise<object> {
  const { cluster, start: from } = worker;
  if (cluster === undefined) return { sent: 0, after: undefined } satisfies RepairAnswer;
  repair ??= new ReturnRepair(from.config, noteFault);
  try {
    return await repair.step(cluster, task);
  } catch (error) {
    if (error instanceof SaltworksError) return failed(error);
    throw error;
  }
}

async function closeStores(): Promise<void> {
  await worker.cluster?.close();
  await repair?.close();
  await worker.stores.jobs.close();
  await worker.stores.minions.close();
}
