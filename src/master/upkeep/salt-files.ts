/**
 * Salt's own files beside ours: takes over what a Salt master left. If Salt is on the machine, keeps its files current while this master runs, for
 * Salt's tools and for a way back to Salt.
 */
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode } from "../../errors.ts";
import {
  aliveMarkEveryMs,
  aliveMarkMarginMs,
  saltJobsLookEveryMs,
  saltMirrorEveryMs,
  saltMirrorRetryMs,
  saltMirrorStopMs,
  saltTakeJobsRetryMsMax,
} from "../../limits.ts";
import { driverOf } from "../../store/drivers/registry.ts";
import type { MinionData } from "../../store/minions/data.ts";
import { AliveMark } from "../../store/salt/alive-mark.ts";
import { findSaltFiles, findSaltPrograms } from "../../store/salt/detect.ts";
import { fillMirrorQueue } from "../../store/salt/fill-mirror-queue.ts";
import { layoutsIn, type MinionLayout } from "../../store/salt/minion-files.ts";
import type { MirrorStep } from "../../store/salt/mirror.ts";
import { MirrorQueue, mirrorQueueFile } from "../../store/salt/mirror-queue.ts";
import { hasChangedJobs } from "../../store/salt/take-over-jobs.ts";
import { takeOverMinionData } from "../../store/salt/take-over-minion-data.ts";
import { jidAt } from "../../wire/jid.ts";

import type { SaltAnswer, SaltTask, TakenJobs } from "../../workers/messages/lanes.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";

/** Most unreadable files that the log names. */
const faultsShownMax = 20;

export type SaltPlan = {
  /** The store of changes to be written to Salt's files. */
  readonly queueFile: string;
  readonly isMirrored: boolean;
  readonly layouts: readonly MinionLayout[];
  readonly minionsMark: AliveMark;
  readonly jobsMark: AliveMark;
  /** Job directories that changed after this time are read; undefined: none is read. */
  readonly jobsSinceMs: number | undefined;
  /** When the job directories were last scanned. Every job from before is taken over, or left out. */
  readonly jobsLookedMs: number;
};

/**
 * Looks for Salt's programs and files, and takes over its master's minion data. Call it before any port opens. @throws SaltworksError STORE_FAILED
 */
export async function prepareSaltFiles(
  config: MasterConfig,
  {
    minions,
    ids,
    logger,
    programPath,
  }: {
    readonly minions: MinionData;
    /** Ids with an accepted key. */
    readonly ids: readonly string[];
    readonly logger: Logger;
    /** Folders to search for Salt's programs, in the form of PATH. */
    readonly programPath: string;
  },
): Promise<SaltPlan> {
  const { cachedir } = config;
  const minionsMark = new AliveMark(join(cachedir, ".saltworks-minions-seen"));
  const jobsMark = new AliveMark(join(cachedir, ".saltworks-jobs-seen"));
  const jobsSinceMs = hasChangedJobs(cachedir, jobsMark.sinceMs) ? jobsMark.sinceMs : undefined;
  // An earlier release wrote no text. It scanned the jobs only when it started.
  const jobsLookedMs = Math.min(Number(jobsMark.text) || jobsMark.sinceMs, jobsMark.sinceMs);
  const layouts = layoutsIn(cachedir);
  const taken = await takeMinions(config, minions, ids, minionsMark, logger);
  const isSaltsNew = minionsMark.sinceMs === 0 || taken > 0 || jobsSinceMs !== undefined;
  const known = minionsMark.text.split("\n").filter(Boolean);
  const left = known.length === 0 && isSaltsNew ? findSaltFiles(cachedir) : known;
  const isMirrored = mirrors(config, [...findSaltPrograms(programPath), ...left], logger);
  minionsMark.set(left.join("\n"));
  const queueFile = mirrorQueueFile(cachedir);
  if (isMirrored) await openQueue(queueFile, config, minions, logger);
  // Changes are no longer queued, so a later queue must start from all that is stored.
  else if (existsSync(queueFile)) rmSync(dirname(queueFile), { recursive: true, force: true });
  return { queueFile, isMirrored, layouts, minionsMark, jobsMark, jobsSinceMs, jobsLookedMs };
}

function mirrors({ salt_files: option, master_job_cache: driver }: MasterConfig, found: string[], logger: Logger) {
  if (option === "never") return false;
  if (option === "auto" && driver !== "local_cache" && found.length === 0) return false;
  logger.info({ found, salt_files: option }, "Salt's own files are kept current");
  return true;
}

/** @returns how many facts and mines were taken over */
async function takeMinions(
  config: MasterConfig,
  minions: MinionData,
  ids: readonly string[],
  { sinceMs }: AliveMark,
  logger: Logger,
): Promise<number> {
  const keeps = { facts: config.minion_data_cache, mines: config.minion_data_cache || config.enforce_mine_cache };
  let shown = 0;
  const [startMs, startedMs] = [performance.now(), Date.now()];
  const readMark = new AliveMark(join(config.cachedir, ".saltworks-minions-read"));
  const taken = await takeOverMinionData({
    ...{ cachedir: config.cachedir, ids, minions, sinceMs, keeps, isOutdated: await outdatedIn(config.cachedir) },
    readMs: sinceMs === 0 ? 0 : readMark.sinceMs || sinceMs,
    onProgress: (done, all) => logger.info({ done, all }, "taking over minions' data of a Salt master"),
    onFault: (fault) => {
      shown += 1;
      if (shown <= faultsShownMax) logger.warn(fault, "a file of a Salt master cannot be read and is left out");
    },
  });
  const ms = Math.round(performance.now() - startMs);
  if (taken.facts + taken.mines + taken.faults > 0)
    logger.info({ ...taken, ms }, "took over grains, pillars and mines of a Salt master");
  readMark.set("");
  readMark.end(startedMs);
  return taken.facts + taken.mines;
}

/** Minions whose Salt files are outdated, because they were still to be written when the last master ended. */
async function outdatedIn(cachedir: string): Promise<(id: string) => boolean> {
  const file = mirrorQueueFile(cachedir);
  if (!existsSync(file)) return () => false;
  const queue = new MirrorQueue(file);
  try {
    const ids = new Set(queue.minions(queue.minionCount).map(({ id }) => id));
    return (id) => ids.has(id);
  } finally {
    await queue.close();
  }
}

async function openQueue(file: string, config: MasterConfig, minions: MinionData, logger: Logger): Promise<void> {
  const queue = new MirrorQueue(file);
  const returns = driverOf(config).openKeyedReturns(config, (fault) => logger.error(fault));
  try {
    const count = await fillMirrorQueue({ queue, returns, minions });
    if (count > 0) logger.info({ count }, "Salt's own files will be brought up to date");
  } finally {
    await returns.close();
    await queue.close();
  }
}

type Counted = Omit<MirrorStep, "faults" | "isHeldUp">;

export class SaltFiles {
  readonly counters = {
    ...({ returns: 0, duplicates: 0, gone: 0, failed: 0, dropped: 0, minions: 0 } as const satisfies Partial<Counted>),
    returnsWaiting: 0,
    minionsWaiting: 0,
    jobsTaken: 0,
  } as Counted & { jobsTaken: number };
  readonly #plan: SaltPlan;
  readonly #config: MasterConfig;
  readonly #lane: LanePool;
  readonly #logger: Logger;
  readonly #wait = new AbortController();
  readonly #marking: NodeJS.Timeout;
  readonly #running: Promise<unknown>;
  #areJobsSeen: boolean;
  #hasDropped = false;

  constructor(plan: SaltPlan, parts: { config: MasterConfig; saltLane: LanePool; logger: Logger }) {
    this.#plan = plan;
    this.#config = parts.config;
    this.#lane = parts.saltLane;
    this.#logger = parts.logger;
    this.#areJobsSeen = plan.jobsSinceMs === undefined;
    if (this.#areJobsSeen) this.#setJobsMark(plan.jobsLookedMs);
    this.#marking = setInterval(() => this.#mark(), aliveMarkEveryMs).unref();
    this.#running = this.#run();
  }

  /** Call it after the workers have closed their stores. Writes their last returns, too, for at most `saltMirrorStopMs`. */
  async close(): Promise<void> {
    this.#wait.abort();
    await this.#running;
    const endMs = performance.now() + saltMirrorStopMs;
    if (this.#plan.isMirrored) {
      for (let step = await this.#mirror(); hasMore(step) && performance.now() < endMs; ) step = await this.#mirror();
    }
    const { returnsWaiting, minionsWaiting } = this.counters;
    if (returnsWaiting + minionsWaiting > 0)
      this.#logger.warn({ returnsWaiting, minionsWaiting }, "Salt's own files are incomplete until the next start");
    clearInterval(this.#marking);
    this.#plan.minionsMark.end();
    if (this.#areJobsSeen) this.#plan.jobsMark.end();
  }

  async #run(): Promise<void> {
    const { isMirrored, jobsSinceMs, jobsLookedMs } = this.#plan;
    const startMs = Date.now();
    if (jobsSinceMs !== undefined && (await this.#takeJobs(jobsSinceMs, false))) {
      this.#areJobsSeen = true;
      this.#setJobsMark(jobsSinceMs === 0 ? startMs : jobsLookedMs);
    }
    let lookedMs = jobsSinceMs === 0 ? startMs : jobsLookedMs;
    for (let nextMs = 0; !this.#wait.signal.aborted; ) {
      const restMs = nextMs - performance.now();
      if (restMs <= 0) {
        lookedMs = await this.#lookForJobs(lookedMs);
        nextMs = performance.now() + saltJobsLookEveryMs;
      } else if (isMirrored) await this.#mirrorAndRest(restMs);
      else await this.#pause(restMs);
    }
  }

  /** Takes over jobs that were copied in while this master ran, or just after it died. @returns when they were last scanned */
  async #lookForJobs(lookedMs: number): Promise<number> {
    const startMs = Date.now();
    // `min`: a clock that was set back must not hide a job.
    const sinceMs = Math.min(lookedMs, startMs - saltJobsLookEveryMs) - aliveMarkMarginMs;
    if (!(await this.#takeJobs(sinceMs, true))) return lookedMs;
    this.#setJobsMark(startMs);
    return startMs;
  }

  async #mirrorAndRest(restMsMax: number): Promise<void> {
    const step = await this.#mirror();
    if (hasMore(step)) return;
    await this.#pause(Math.min(step === undefined || step.isHeldUp ? saltMirrorRetryMs : saltMirrorEveryMs, restMsMax));
  }

  /** Keeps Salt's files current for `ms`. */
  async #mirrorFor(ms: number): Promise<void> {
    if (!this.#plan.isMirrored) return this.#pause(ms);
    const endMs = performance.now() + ms;
    for (let leftMs = ms; leftMs > 0 && !this.#wait.signal.aborted; leftMs = endMs - performance.now())
      await this.#mirrorAndRest(leftMs);
  }

  /** Takes over jobs. Keeps Salt's files current in between, because the jobs of a large site take minutes. @returns whether it came to its end */
  async #takeJobs(sinceMs: number, isBrief: boolean): Promise<boolean> {
    const keepMs = this.#config.keep_jobs_seconds * 1_000;
    const olderThanJid = jidAt(keepMs === 0 ? 0 : Date.now() - keepMs, 0);
    let [jobs, leftOut] = [0, 0];
    for (let retryMs = saltMirrorRetryMs; !this.#wait.signal.aborted; ) {
      const step = await this.#ask<TakenJobs>({ kind: "takeJobs", sinceMs, olderThanJid, isBrief });
      if (step === undefined) {
        await this.#mirrorFor(retryMs);
        retryMs = Math.min(2 * retryMs, saltTakeJobsRetryMsMax);
        // The lane starts again, and reports the faults again.
        leftOut = 0;
        continue;
      }
      retryMs = saltMirrorRetryMs;
      jobs += step.taken;
      this.counters.jobsTaken += step.taken;
      for (const fault of step.faults.slice(0, Math.max(0, faultsShownMax - leftOut)))
        this.#logger.warn(fault, "a job of a Salt master cannot be taken over and is left out");
      leftOut += step.leftOut;
      if (step.isDone) {
        if (jobs + leftOut > 0) this.#logger.info({ jobs, leftOut }, "took over jobs of a Salt master");
        return true;
      }
      if (this.#plan.isMirrored) await this.#mirror();
    }
    return false;
  }

  /** Writes the mark of scanned jobs. Without it the next start scans all of Salt's jobs again. */
  #setJobsMark(lookedMs: number): void {
    try {
      this.#plan.jobsMark.set(String(lookedMs));
    } catch (error) {
      this.#logger.warn({ err: error }, "the mark of the jobs of a Salt master cannot be written");
    }
  }

  async #mirror(): Promise<MirrorStep | undefined> {
    const step = await this.#ask<MirrorStep>({ kind: "mirror" });
    if (step === undefined) return undefined;
    for (const name of ["returns", "duplicates", "gone", "failed", "dropped", "minions"] as const)
      this.counters[name] += step[name];
    this.counters.returnsWaiting = step.returnsWaiting;
    this.counters.minionsWaiting = step.minionsWaiting;
    const [first] = step.faults;
    if (first !== undefined)
      this.#logger.warn({ first, count: step.faults.length }, "Salt's own files could not be written");
    if (step.dropped > 0 && !this.#hasDropped) {
      this.#hasDropped = true;
      this.#logger.warn({ dropped: step.dropped }, "returns are left out of Salt's own files: too many wait");
    }
    return step;
  }

  async #ask<Answer>(task: SaltTask): Promise<Answer | undefined> {
    try {
      const answer = await this.#lane.run<SaltAnswer<Answer>>(task);
      for (const fault of answer.storeFaults)
        this.#logger.error({ fault }, "the thread of Salt's own files met a fault of our store");
      return answer;
    } catch (error) {
      if (!hasCode(error, "CHANNEL_CLOSED")) this.#logger.error({ err: error }, "Salt's own files: a step failed");
      return undefined;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.#wait;
      const timer = setTimeout(done, ms);
      function done() {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      }
      signal.addEventListener("abort", done);
      if (signal.aborted) done();
    });
  }

  #mark(): void {
    try {
      this.#plan.minionsMark.touch();
      if (this.#areJobsSeen) this.#plan.jobsMark.touch();
    } catch (error) {
      this.#logger.warn({ err: error }, "the mark for the next takeover cannot be set");
    }
  }
}

/** Whether the step made progress and more waits. */
function hasMore(step: MirrorStep | undefined): boolean {
  return step !== undefined && !step.isHeldUp && step.returnsWaiting + step.minionsWaiting > 0;
}
