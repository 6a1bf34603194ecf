/** Runner `survey`: groups minions by their answer, and shows how the groups differ. */
import { SaltworksError } from "../../errors.ts";
import { unifiedDiff } from "../../python/difflib.ts";
import { strOf } from "../../python/repr.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { print } from "../contract/caller-events.ts";
import type { ExtraArguments, RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { runJob } from "../contract/run-job.ts";
import { jobArguments } from "./salt.ts";

type Pool = { readonly pool: string[]; readonly result: string };

async function pools(context: RunnerContext, short: string, extra: ExtraArguments): Promise<Pool[]> {
  const [target, fun, ...positional] = extra.positional;
  if (target === undefined || fun === undefined)
    throw new SaltworksError("FUNCTION_ARGUMENTS", `${short}() needs a target and a function`, {});
  const keywords: ValueMap = new Map(extra.keywords);
  const isRising = keywords.get("survey_sort") === "up";
  const targetKind = keywords.get("tgt_type") === "pcre" ? "pcre" : "compound";
  for (const name of ["survey_sort", "tgt_type"]) keywords.delete(name);
  for (const name of [...keywords.keys()]) if (String(name).startsWith("_")) keywords.delete(name);
  const arg = jobArguments(positional, keywords);
  const { returns } = await runJob(context, { fun: String(fun), arg, target: String(target), targetKind });
  const found = new Map<string, Pool>();
  for (const id of [...returns.keys()].sort()) {
    const result = strOf(returns.get(id) as Value);
    const pool = found.get(result) ?? { pool: [], result };
    pool.pool.push(id);
    found.set(result, pool);
  }
  // Pools of equal size stay in the order of their first minion.
  return [...found.values()].sort((a, b) => (isRising ? 1 : -1) * (a.pool.length - b.pool.length));
}

async function diff(context: RunnerContext, _: ValueMap, extra: ExtraArguments): Promise<Encodable> {
  const found = await pools(context, "diff", extra);
  const [first, ...others] = found;
  if (first === undefined) return [];
  await print(context, `${poolText(first)}\npool result :\n------------\n    ${first.result}\n`);
  for (const other of others) {
    const heading = `differences from "${first.pool[0]}" results :`;
    const names = { from: first.pool[0] ?? "", to: other.pool[0] ?? "" };
    const lines = unifiedDiff(first.result, other.result, names);
    await print(context, `${poolText(other)}\n${heading}\n${"-".repeat(heading.length - 1)}\n${lines}\n`);
  }
  return found;
}

function poolText({ pool }: Pool): string {
  return `minion pool :\n------------\n${strOf(pool)}\npool size :\n----------\n    ${pool.length}`;
}

export const surveyRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "survey.hash",
    {
      parameters: [],
      takes: "all",
      doc: "Minions pooled by their answer: TARGET FUNCTION [argument ..]; survey_sort=up shows small pools first.",
      run: (context, _, extra) => pools(context, "hash", extra),
    },
  ],
  [
    "survey.diff",
    {
      parameters: [],
      takes: "all",
      doc: "As survey.hash; also shows how each pool's answer differs from the first pool's.",
      run: diff,
    },
  ],
]);
