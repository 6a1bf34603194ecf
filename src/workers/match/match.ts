/**
 * Finds this worker's minions that match a target. If the index has the target's paths, the answer comes at once. If not, they are indexed in
 * slices between batches and the main thread asks again, so that returns never wait for an index.
 */
import { matchCpuMsMax, matchesPendingMax, matchKeptMs, matchSliceMs } from "../../limits.ts";
import { listedIds, matchesExpected } from "../../target/expected.ts";
import type { Bitmap } from "../../target/fleet/bitmap.ts";
import type { FleetIndex } from "../../target/fleet/fleet-index.ts";
import type { Target } from "../../target/parse.ts";
import { ParsedTargets } from "../../target/parsed.ts";
import { decode } from "../../wire/msgpack.ts";
import { type PackedTexts, packTexts } from "../../wire/text-list.ts";
import type { MatchAnswer, MatchTask } from "../messages/worker.ts";
import { IdPages } from "../state/id-pages.ts";
import { KeptLists } from "../state/kept-lists.ts";
import type { WorkerState } from "../state/worker-state.ts";

type Outcome = { readonly minions: Bitmap } | { readonly refusal: string };
type Search = {
  readonly steps: Generator<void, Bitmap>;
  usedMs: number;
  outcome: Outcome | undefined;
  /** When the main thread last asked for this search. */
  sinceMs: number;
};

const pending: MatchAnswer = { state: "pending" };

/** The part of a worker that the matcher uses. */
export type MatchSite = Pick<WorkerState, "facts" | "ownIds" | "ownAmong" | "count">;

export class Matcher {
  readonly #worker: MatchSite;
  readonly #cpuMsMax: number;
  readonly #searches = new Map<string, Search>();
  readonly #targets = new ParsedTargets();
  readonly #lists = new KeptLists();
  #pages: IdPages | undefined;
  #isScheduled = false;

  constructor(worker: MatchSite, cpuMsMax: number = matchCpuMsMax) {
    this.#worker = worker;
    this.#cpuMsMax = cpuMsMax;
  }

  /** @throws SaltworksError TARGET_INVALID. The main thread parses the target first, so this is not expected. */
  match(task: MatchTask): MatchAnswer {
    const name = nameOf(task);
    const known = this.#searches.get(name);
    if (known !== undefined) return this.#answer(name, known);
    const target = this.#targets.parse(task.targetKind, decode(task.target) as string | string[], task.delimiter);
    if (target.kind === "list") return ready(packTexts(this.#listed(target)));
    if (target.masterTree === undefined) return ready(packTexts([]));
    if (this.#searches.size >= matchesPendingMax) return this.#refuse("too many targets are being matched");
    const search: Search = {
      steps: this.#index().match(target.masterTree, task.isGreedy),
      usedMs: 0,
      outcome: undefined,
      sinceMs: 0,
    };
    runSlice(search, this.#cpuMsMax);
    if (search.outcome === undefined) {
      this.#worker.count("targets.deferred");
      this.#searches.set(name, search);
      this.#schedule();
    }
    return this.#answer(name, search);
  }

  get gauges(): Readonly<Record<string, number>> {
    const index = this.#worker.facts.index;
    const all = { ...index?.counters, ...index?.gauges, pending: this.#searches.size };
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [`targets.${name}`, value]));
  }

  /** Looks up the ids of a list instead of scanning all minions, because find_job and presence name a few of many. */
  #listed(target: Target): string[] {
    const candidates = this.#worker.ownAmong(listedIds(target) ?? []);
    return candidates.filter((id) => matchesExpected(target, id, undefined));
  }

  #index(): FleetIndex {
    const { facts } = this.#worker;
    return facts.index ?? facts.openIndex(this.#worker.ownIds());
  }

  #answer(name: string, search: Search): MatchAnswer {
    search.sinceMs = performance.now();
    if (search.outcome === undefined) return pending;
    this.#searches.delete(name);
    if ("refusal" in search.outcome) return this.#refuse(search.outcome.refusal);
    return ready(this.#packed(name, search.outcome.minions));
  }

  #refuse(reason: string): MatchAnswer {
    this.#worker.count("matches.refused");
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

  /** Runs one slice of one search per turn of the event loop. Searches take turns, and batches run in between. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const nowMs = performance.now();
      for (const [name, search] of this.#searches)
        if (nowMs - search.sinceMs > matchKeptMs) this.#searches.delete(name);
      for (const [name, search] of this.#searches) {
        if (search.outcome !== undefined) continue;
        this.#searches.delete(name);
        this.#searches.set(name, search);
        runLater(search, this.#cpuMsMax);
        this.#schedule();
        return;
      }
    });
  }
}

function ready({ count, bytes }: PackedTexts): MatchAnswer {
  return { state: "ready", count, ids: bytes };
}

function runSlice(search: Search, cpuMsMax: number): void {
  const startedMs = performance.now();
  let elapsedMs = 0;
  do {
    const { done, value } = search.steps.next();
    elapsedMs = performance.now() - startedMs;
    if (done === true) search.outcome = { minions: value };
  } while (search.outcome === undefined && elapsedMs < matchSliceMs);
  search.usedMs += elapsedMs;
  if (search.usedMs > cpuMsMax) search.outcome ??= { refusal: "the target takes too long to match" };
}

/** Like `runSlice`, but outside a task: an error becomes the search's refusal, which the main thread gets when it asks again. */
function runLater(search: Search, cpuMsMax: number): void {
  try {
    runSlice(search, cpuMsMax);
  } catch (error) {
    search.outcome = {
      refusal: `the target cannot be matched: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

function nameOf({ targetKind, delimiter, target, isGreedy }: MatchTask): string {
  return [isGreedy === false ? "known" : "", targetKind, delimiter, Buffer.from(target).toString("latin1")].join("\0");
}
