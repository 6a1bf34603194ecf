/** The thread of a shard worker: opens its stores with the first task, then answers tasks. Errors of single requests are data; anything else ends the task. */
import { join } from "node:path";
import { isMainThread, workerData } from "node:worker_threads";
import { openedSealCount } from "../crypto/crypticle.ts";
import { SaltworksError } from "../errors.ts";
import { idleCiphersMs, noCacheJobsMax } from "../limits.ts";
import { diskFaultCounts, diskFaultKinds } from "../store/disk/faults.ts";
import { openJobCache } from "../store/drivers/open-job-cache.ts";
import { type Autosign, openAutosign } from "../store/keys/autosign.ts";
import { takeKeepMark } from "../store/keys/keep-marks.ts";
import { openKeyDirectories } from "../store/keys/keys.ts";
import { openMinionData } from "../store/minions/data.ts";
import { feedingMinions } from "../store/salt/fed-minions.ts";
import { SaltFeed } from "../store/salt/feed.ts";
import { openSecretBox } from "../store/secrets/sealed.ts";
import { encode } from "../wire/msgpack.ts";
import { Packed } from "../wire/values.ts";
import { asError, runBatch } from "./batch/run-batch.ts";
import { sealReply } from "./batch/seal-reply.ts";
import { forgetFacts } from "./holding/forget-facts.ts";
import { Shard } from "./holding/shard.ts";
import { Matcher } from "./match/match.ts";
import { findMines, readMines } from "./match/mine-read.ts";
import { collectWhenIdle } from "./measures/idle-collection.ts";
import type { ShardStart, ShardTask, TrimAnswer } from "./messages/shard.ts";
import { nameThread } from "./threads/name.ts";
import { failed, transferring } from "./threads/pool.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/entry.ts runs in a worker thread only");

const start = workerData as ShardStart;
/** Set by the first task: see `openOnce`. */
let shard: Shard;
let autosign: Autosign;
let matcher: Matcher;
/** Faults wait here for the next `counters` task, because a worker has no log of its own. */
const faultsKeptMax = 20;
const faults: string[] = [];

async function openShard(from: ShardStart): Promise<Shard> {
  const { config, saltFeedFile } = from;
  const feed = saltFeedFile === undefined ? undefined : new SaltFeed(saltFeedFile);
  const minions = openMinionData({ path: join(config.cachedir, "minions.lmdb") });
  const stores = {
    jobs: openJobCache(config, { feed, onFault: noteFault }),
    minions: feed === undefined ? minions : feedingMinions(minions, feed, noteFault),
    keys: openKeyDirectories(config.pki_dir),
    box: openSecretBox(from.masterPrivatePem, join(config.pki_dir, ".seal-salt")),
  };
  const opened = new Shard(from, stores);
  for (const jid of (await stores.jobs.unkeptJobs()).slice(-noCacheJobsMax)) opened.noteNoCache(jid);
  return opened;
}

/** Opens the stores with the first task. Piscina never replaces a thread that fails as it starts; a task that fails is answered, and the next one tries again. */
async function open(): Promise<void> {
  const opened = await openShard(start);
  autosign = openAutosign(start.config);
  matcher = new Matcher(opened);
  shard = opened;
  const idleCollection = collectWhenIdle();
  setInterval(() => {
    if (shard.restSessions() > 0) idleCollection.want();
  }, idleCiphersMs).unref();
}

function noteFault(error: Error): void {
  if (faults.length < faultsKeptMax) faults.push(error.stack ?? error.message);
}

let opening: Promise<void> | undefined;

/** Makes one try for all tasks that come meanwhile. */
function openOnce(): Promise<void> {
  opening ??= open().finally(() => {
    opening = undefined;
  });
  return opening;
}

/** Changes that came while the stores could not be opened, in order. They are made before the next task. */
const missed: ChangeTask[] = [];
type ChangeTask = Extract<ShardTask, { kind: "masterKeys" | "minionKeys" | "presencePing" }>;

/** The task fails all the same. Its caller may repeat it, because each change can be made twice. */
function keepMissed(task: ShardTask): void {
  if (task.kind !== "masterKeys" && task.kind !== "minionKeys" && task.kind !== "presencePing") return;
  const sameKind = missed.findIndex(({ kind }) => kind === task.kind);
  const earlier = sameKind === -1 ? undefined : missed.splice(sameKind, 1)[0];
  missed.push(earlier?.kind === "minionKeys" && task.kind === "minionKeys" ? joined(earlier, task) : task);
}

/** Joins two changes to one, so that at most one entry an id is kept. */
function joined(earlier: KeyTask, later: KeyTask): KeyTask {
  const without = (ids: readonly string[], others: readonly string[]) => ids.filter((id) => !others.includes(id));
  return {
    ...later,
    added: [...new Set([...without(earlier.added, later.removed), ...later.added])],
    removed: [...new Set([...without(earlier.removed, later.added), ...later.removed])],
    changed: [...new Set([...without(earlier.changed, later.removed), ...later.changed])],
  };
}

type KeyTask = Extract<ShardTask, { kind: "minionKeys" }>;

let catchingUp: Promise<void> | undefined;

/** All tasks that come meanwhile wait for the same promise, so that none overtakes the changes. */
function caughtUp(): Promise<void> {
  catchingUp ??= catchUp().finally(() => {
    catchingUp = undefined;
  });
  return catchingUp;
}

/** A change that fails stays in the list, and so do the later ones. */
async function catchUp(): Promise<void> {
  for (let [task] = missed; task !== undefined; [task] = missed) {
    if (task.kind === "masterKeys") shard.useMasterKeys(task.keys);
    else if (task.kind === "minionKeys") await updateMinionKeys(task);
    else shard.notePresencePing(task.jid);
    missed.shift();
  }
}

/** @returns this worker's ids whose file holds another key than the one that was served */
async function updateMinionKeys(task: Extract<ShardTask, { kind: "minionKeys" }>): Promise<string[]> {
  for (const id of task.added) start.accepted.add(id);
  for (const id of task.removed) start.accepted.delete(id);
  shard.facts.noteKeys(
    task.added.filter((id) => shard.owns(id)),
    task.removed,
  );
  const replaced = [...task.added, ...task.changed].filter((id) => shard.owns(id) && shard.isReplaced(id));
  const owned = [...task.removed.filter((id) => shard.owns(id)), ...replaced];
  const { preserve_minion_cache: isDataKept, cachedir } = start.config;
  const removed = new Set(task.removed);
  const isGone = (id: string) => removed.has(id) && !takeKeepMark(cachedir, id) && !isDataKept;
  const forgotten = await Promise.allSettled(owned.map((id) => shard.forget(id, isGone(id))));
  // The next start drops what stays on disk. A failure here must not hide which keys were replaced.
  for (const step of forgotten) if (step.status === "rejected") noteFault(asError(step.reason));
  return replaced;
}

/** Removes jobs that are too old or too many. */
async function trim({ olderThanJid, keep, stepsMax }: Extract<ShardTask, { kind: "trim" }>): Promise<TrimAnswer> {
  const { removed, hasMore } = await shard.stores.jobs.trim({ olderThanJid, keep, stepsMax });
  return { removed, hasMore };
}

/** Stores load and return of a runner call. */
async function putCall({ jid, load, id, body }: Extract<ShardTask, { kind: "putCall" }>): Promise<void> {
  const { jobs } = shard.stores;
  await jobs.keepJobs([{ jid, load, minions: [] }]);
  await jobs.keepReturns([{ jid, minionId: id, body }]);
}

async function putLoad(task: Extract<ShardTask, { kind: "putLoad" }>): Promise<void> {
  const { jid, load, missing, isNoCache } = task;
  const minions = new Packed(...task.minions);
  await shard.stores.jobs.keepJobs([{ jid, load, minions, missing, isNoCache }]);
}

/** Does nothing for a minion whose key went while its pillar was rendered. */
async function keepFacts({ id, grains, pillar }: Extract<ShardTask, { kind: "keepFacts" }>): Promise<void> {
  if (!shard.isAccepted(id)) return;
  await shard.facts.keep(id, grains, pillar ?? shard.facts.stored(id)?.pillar ?? emptyMap);
}

const emptyMap = encode(new Map(), "bin");

/** Disk faults of this thread. */
function diskCounters(): Readonly<Record<string, number>> {
  return Object.fromEntries(diskFaultKinds.map((kind) => [`disk.${kind}`, diskFaultCounts()[kind]]));
}

let seat: number | undefined;

/** The first task tells the thread which slot it serves, for as long as it lives. */
function takeSeat(slot: number): void {
  if (seat === slot) return;
  seat = slot;
  shard.slot = slot;
  nameThread(`sw-shard-${slot}`);
}

export default async function handle(task: ShardTask): Promise<unknown> {
  try {
    if (shard === undefined) await openOnce();
    if (missed.length > 0 || catchingUp !== undefined) await caughtUp();
  } catch (error) {
    keepMissed(task);
    return failed(error instanceof SaltworksError ? error : new SaltworksError("STORE_FAILED", String(error)));
  }
  takeSeat(task.slot);
  switch (task.kind) {
    case "batch": {
      const result = await runBatch(shard, autosign, task, noteFault);
      return transferring(result, result.buffer);
    }
    case "match": {
      const answer = matcher.match(task);
      const memory = answer.state === "ready" ? answer.ids.buffer : undefined;
      // A kept list lies in shared memory, which cannot be transferred.
      return memory instanceof ArrayBuffer ? transferring(answer, memory) : answer;
    }
    case "putLoad":
      return putLoad(task);
    case "putCall":
      return putCall(task);
    case "noCache":
      return shard.noteNoCache(task.jid);
    case "keepFacts":
      return keepFacts(task);
    case "forgetFacts":
      return forgetFacts(shard, task);
    case "mineFind": {
      const found = findMines(shard, matcher.match(task.match), task);
      const slice = found.state === "ready" ? found.slice : undefined;
      return slice?.state === "read" ? transferring(found, slice.pairs.buffer) : found;
    }
    case "mineRead": {
      const slice = readMines(shard, task);
      return slice.state === "read" ? transferring(slice, slice.pairs.buffer) : slice;
    }
    case "sealReply":
      return sealReply(shard, task);
    case "seal":
      return shard.current.seal(task.packed);
    case "masterKeys":
      return shard.useMasterKeys(task.keys);
    case "minionKeys":
      return updateMinionKeys(task);
    case "presencePing":
      return shard.notePresencePing(task.jid);
    case "whichReturned":
      return shard.stores.jobs.whichReturned(task.jid, task.ids);
    case "trim":
      return trim(task);
    case "counters":
      return {
        counters: { ...shard.counters, ...matcher.gauges, ...diskCounters(), openedSeals: openedSealCount() },
        faults: faults.splice(0),
      };
    case "measures":
      return shard.meter.read({ ...shard.counters, ...matcher.gauges, ...diskCounters() });
    case "close":
      return closeStores();
    default: {
      const never: never = task;
      throw new SaltworksError("WIRE_MALFORMED", `unknown task ${String(never)}`);
    }
  }
}

async function closeStores(): Promise<void> {
  await shard.stores.jobs.close();
  await shard.stores.minions.close();
}
