/**
 * Which minions of this worker's partitions a target expects. What is indexed is answered at once; what is not yet is worked on between
 * batches, a slice at a time, and the main thread asks again: a batch of returns never waits for an index.
 */
import { matchCpuMsMax, matchesPendingMax, matchKeptMs, matchSliceMs } from "../../limits.ts";
import { listedIds, matchesExpected } from "../../target/expected.ts";
import type { Bitmap } from "../../target/fleet/bitmap.ts";
import type { FleetIndex } from "../../target/fleet/fleet-index.ts";
import type { Target } from "../../target/parse.ts";
import { ParsedTargets } from "../../target/parsed.ts";
import { decode } from "../../wire/msgpack.ts";
import { type PackedTexts, packTexts } from "../../wire/text-list.ts";
import { IdPages } from "../holding/id-pages.ts";
import { KeptLists } from "../holding/kept-lists.ts";
import type { Shard } from "../holding/shard.ts";
import type { MatchAnswer, MatchTask } from "../messages/shard.ts";

type Outcome = { readonly minions: Bitmap } | { readonly refusal: string };
type Job = {
  readonly steps: Generator<void, Bitmap>;
  usedMs: number;
  outcome: Outcome | undefined;
  /** When it was over, or was last asked about. */
  sinceMs: number;
};

const pending: MatchAnswer = { state: "pending" };

/** What of a shard matching needs. */
export type MatchSite = Pick<Shard, "facts" | "ownIds" | "ownAmong" | "count">;

export class Matcher {
  readonly #shard: MatchSite;
  readonly #cpuMsMax: number;
  readonly #jobs = new Map<string, Job>();
  readonly #targets = new ParsedTargets();
  readonly #lists = new KeptLists();
  #pages: IdPages | undefined;
  #isScheduled = false;

  constructor(shard: MatchSite, cpuMsMax: number = matchCpuMsMax) {
    this.#shard = shard;
    this.#cpuMsMax = cpuMsMax;
  }

  /** @throws SaltworksError TARGET_INVALID; the main thread has parsed the same text before */
  match(task: MatchTask): MatchAnswer {
    const name = nameOf(task);
    const known = this.#jobs.get(name);
    if (known !== undefined) return this.#answer(name, known);
    const target = this.#targets.parse(task.targetKind, decode(task.target) as string | string[], task.delimiter);
    if (target.kind === "list") return ready(packTexts(this.#listed(target)));
    if (target.masterTree === undefined) return ready(packTexts([]));
    if (this.#jobs.size >= matchesPendingMax) return this.#refuse("too many targets are being matched");
    const job: Job = {
      steps: this.#index().match(target.masterTree, task.isGreedy),
      usedMs: 0,
      outcome: undefined,
      sinceMs: 0,
    };
    runSlice(job, this.#cpuMsMax);
    if (job.outcome === undefined) {
      this.#shard.count("targets.deferred");
      this.#jobs.set(name, job);
      this.#schedule();
    }
    return this.#answer(name, job);
  }

  get gauges(): Readonly<Record<string, number>> {
    const index = this.#shard.facts.index;
    const all = { ...index?.counters, ...index?.gauges, pending: this.#jobs.size };
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [`targets.${name}`, value]));
  }

  /** A list is looked up, not searched for: find_job and presence name a few of many. */
  #listed(target: Target): string[] {
    const candidates = this.#shard.ownAmong(listedIds(target) ?? []);
    return candidates.filter((id) => matchesExpected(target, id, undefined));
  }

  #index(): FleetIndex {
    const { facts } = this.#shard;
    return facts.index ?? facts.openIndex(this.#shard.ownIds());
  }

  #answer(name: string, job: Job): MatchAnswer {
    job.sinceMs = performance.now();
    if (job.outcome === undefined) return pending;
    this.#jobs.delete(name);
    if ("refusal" in job.outcome) return this.#refuse(job.outcome.refusal);
    return ready(this.#packed(name, job.outcome.minions));
  }

  #refuse(reason: string): MatchAnswer {
    this.#shard.count("matches.refused");
    return { state: "refused", reason };
  }

  #packed(name: string, minions: Bitmap): PackedTexts {
    const index = this.#index();
    this.#pages ??= new IdPages((minion) => index.idOf(minion));
    const pages = this.#pages;
    const numbered = index.takeNumbered();
    if (numbered.length > 0) {
      pages.write(numbered);
      this.#lists.clear();
    }
    return this.#lists.listOf(name, minions, (found) => pages.pack(found));
  }

  /** One slice of one job at each turn of the event loop, so that batches come in between and no job keeps others waiting. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const nowMs = performance.now();
      for (const [name, job] of this.#jobs) if (nowMs - job.sinceMs > matchKeptMs) this.#jobs.delete(name);
      for (const [name, job] of this.#jobs) {
        if (job.outcome !== undefined) continue;
        this.#jobs.delete(name);
        this.#jobs.set(name, job);
        runLater(job, this.#cpuMsMax);
        this.#schedule();
        return;
      }
    });
  }
}

function ready({ count, bytes }: PackedTexts): MatchAnswer {
  return { state: "ready", count, ids: bytes };
}

function runSlice(job: Job, cpuMsMax: number): void {
  const startedMs = performance.now();
  let elapsedMs = 0;
  do {
    const { done, value } = job.steps.next();
    elapsedMs = performance.now() - startedMs;
    if (done === true) job.outcome = { minions: value };
  } while (job.outcome === undefined && elapsedMs < matchSliceMs);
  job.usedMs += elapsedMs;
  if (job.usedMs > cpuMsMax) job.outcome ??= { refusal: "the target takes too long to match" };
}

/** As `runSlice` where no task waits: a store that fails is the answer of the next one that asks. */
function runLater(job: Job, cpuMsMax: number): void {
  try {
    runSlice(job, cpuMsMax);
  } catch (error) {
    job.outcome = {
      refusal: `the target cannot be matched: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

function nameOf({ targetKind, delimiter, target, isGreedy }: MatchTask): string {
  return [isGreedy === false ? "known" : "", targetKind, delimiter, Buffer.from(target).toString("latin1")].join("\0");
}
