/** Plans jobs and returns beforehand: job ids, targets, publish times, and each minion's return with its size and time. */
import { SaltworksError } from "../../src/errors.ts";
import { matches } from "../../src/target/match.ts";
import { parseTarget } from "../../src/target/parse.ts";
import { jidAt } from "../../src/wire/jid.ts";
import type { JobReturns } from "../fleet/storm/messages.ts";
import { draw } from "../load/distribution.ts";
import type { Random } from "../load/random.ts";
import { drawSample } from "../load/sample.ts";
import type { Expected } from "../scenarios/measures/accounting.ts";
import type { JobOperation, JobTarget, ReturnOperation } from "./schema.ts";

/** Job ids are times, so that those of one run must differ by a millisecond. */
export class JidSource {
  #lastMs = 0;

  next(nowMs = Date.now()): string {
    this.#lastMs = Math.max(this.#lastMs + 1, nowMs);
    return jidAt(this.#lastMs, 0);
  }
}

/** `expression`: in the syntax of `kind`. */
export type Target = {
  readonly expression: string | readonly string[];
  readonly kind: "glob" | "list" | "pcre";
};

export type PlannedJob = {
  readonly jid: string;
  readonly atMs: number;
  readonly target: Target;
};

export type ReturnPlan = {
  readonly jids: readonly string[];
  readonly returns: JobReturns;
  readonly plannedMs: Float64Array;
  readonly expected: readonly Expected[];
};

/**
 * Jobs at their times, and the returns of each one's minions, ordered by time. `everybody`: names the whole fleet. `isListed`: a glob's minions are
 * named one by one, because the master has others, which must not run the bench's functions.
 *
 * @throws SaltworksError USAGE for a glob that no simulated minion matches
 */
export function planJobs(
  operation: JobOperation,
  publishMs: Float64Array,
  o: Fleet & { readonly jids: JidSource },
): { readonly jobs: readonly PlannedJob[]; readonly plan: ReturnPlan } {
  const targeting = targetingOf(operation.target, o);
  const jobs: PlannedJob[] = [];
  const expected: Expected[] = [];
  const rows: { job: number; minion: number; atMs: number; bytes: number }[] = [];
  for (const [job, atMs] of publishMs.entries()) {
    const jid = o.jids.next();
    const { minions, target } = targeting();
    jobs.push({ jid, atMs, target });
    expected.push({ jids: [jid], ids: minions.map((minion) => o.ids[minion] ?? "") });
    for (const minion of minions) {
      const [delayMs, bytes] = [draw(operation.delayMs, o.random), draw(operation.bytes, o.random)];
      rows.push({ job, minion, atMs: atMs + delayMs, bytes });
    }
  }
  rows.sort((a, b) => a.atMs - b.atMs);
  const returns = {
    job: Uint32Array.from(rows, ({ job }) => job),
    minion: Uint32Array.from(rows, ({ minion }) => minion),
    bytes: Uint32Array.from(rows, ({ bytes }) => bytes),
  };
  const plannedMs = Float64Array.from(rows, ({ atMs }) => atMs);
  return { jobs, plan: { jids: jobs.map(({ jid }) => jid), returns, plannedMs, expected } };
}

/** One return after the other over the whole fleet, to jobs that exist already: `jids` has enough for `plannedMs`. */
export function planReturns(
  operation: ReturnOperation,
  plannedMs: Float64Array,
  o: { readonly ids: readonly string[]; readonly jids: readonly string[]; readonly random: Random },
): ReturnPlan {
  const { ids, jids } = o;
  const returns = {
    job: Uint32Array.from(plannedMs, (_, index) => Math.floor(index / ids.length)),
    minion: Uint32Array.from(plannedMs, (_, index) => index % ids.length),
    bytes: Uint32Array.from(plannedMs, () => draw(operation.bytes, o.random)),
  };
  const whole = Math.floor(plannedMs.length / ids.length);
  const rest = plannedMs.length - whole * ids.length;
  const expected = [
    { jids: jids.slice(0, whole), ids },
    { jids: rest === 0 ? [] : jids.slice(whole, whole + 1), ids: ids.slice(0, rest) },
  ];
  return { jids, returns, plannedMs, expected };
}

type Fleet = {
  readonly ids: readonly string[];
  readonly everybody: Target;
  readonly isListed: boolean;
  readonly random: Random;
};

type Targeting = () => { readonly minions: readonly number[]; readonly target: PlannedJob["target"] };

function targetingOf(target: JobTarget, { ids, everybody, isListed, random }: Fleet): Targeting {
  if (target.kind === "glob") {
    const minions = minionsOf(target.glob, ids);
    if (minions.length === 0) {
      throw new SaltworksError(
        "USAGE",
        `the target glob '${target.glob}' matches no simulated minion (sim-0, sim-1, ..)`,
      );
    }
    const named = isListed ? listOf(minions, ids) : ({ expression: target.glob, kind: "glob" } as const);
    return () => ({ minions, target: named });
  }
  const count = minionCountOf(target, ids.length);
  if (count === ids.length) {
    const minions = [...ids.keys()];
    return () => ({ minions, target: everybody });
  }
  return () => {
    const minions = drawSample(ids.length, count, random);
    return { minions, target: listOf(minions, ids) };
  };
}

function listOf(minions: readonly number[], ids: readonly string[]): Target {
  return { expression: minions.map((minion) => ids[minion] ?? ""), kind: "list" };
}

/** Returns of one job. */
export function minionCountOf(target: JobTarget, fleet: number): number {
  if (target.kind === "share") return Math.max(1, Math.round(target.share * fleet));
  return target.kind === "count" ? Math.min(target.count, fleet) : fleet;
}

function minionsOf(glob: string, ids: readonly string[]): number[] {
  const parsed = parseTarget("glob", glob);
  const none = { grains: new Map(), pillar: new Map() };
  return [...ids.keys()].filter((index) => matches(parsed, { id: ids[index] ?? "", ...none }));
}
