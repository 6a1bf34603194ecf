/** Runner `cache`: shows and forgets the grains, pillars and mines that the master keeps. Sends nothing to minions. */

import { SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, targetArgument } from "../contract/arguments.ts";
import type { ForgottenFacts, RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

type Part = "grains" | "pillar" | "mine";

/** Bound of data read for one answer, bytes: memory holds all of it, and one reply carries it. */
const answerBytesMax = 256 * 1024 * 1024;

async function matched(context: RunnerContext, args: ValueMap): Promise<readonly string[]> {
  return [...(await masterOf(context).match(targetArgument(args, "*")))].sort();
}

/** As in Salt, every minion has an entry; it is empty if the master has no data of the minion. */
function show(part: Part): RunnerFunction["run"] {
  return async (context, args) => {
    const found = new Map<string, Encodable>();
    let bytes = 0;
    for (const id of await matched(context, args)) {
      found.set(id, new Map());
      if (!isKept(part, context.config)) continue;
      const stored = part === "mine" ? context.minions?.getMine(id) : context.minions?.get(id)?.[part];
      if (stored === undefined) continue;
      bytes += stored.length;
      if (bytes > answerBytesMax)
        throw new SaltworksError("FUNCTION_FAILED", `more than ${answerBytesMax} bytes; name fewer minions`, {});
      const value = decode(stored);
      if (value instanceof Map && value.size > 0) found.set(id, value);
    }
    return found;
  };
}

/** Whether the option that keeps this data is on. Data stored before it was turned off does not count. */
function isKept(
  part: Part,
  { minion_data_cache: hasData, enforce_mine_cache: hasMine }: RunnerContext["config"],
): boolean {
  return hasData || (part === "mine" && hasMine);
}

function clear(choose: (args: ValueMap) => Omit<ForgottenFacts, "ids"> | undefined): RunnerFunction["run"] {
  return async (context, args) => {
    const facts = choose(args);
    // As in Salt, without a target nothing is cleared.
    if (facts === undefined || (args.get("tgt") ?? null) === null) return false;
    await masterOf(context).forget({ ...facts, ids: await matched(context, args) });
    return true;
  };
}

const parameters = parametersOf("tgt", "tgt_type");
const nothing = { hasGrains: false, hasPillar: false, mine: [] } as const;

export const minionCacheRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "cache.grains",
    {
      parameters: parametersOf("tgt!", "tgt_type"),
      takes: "keywords",
      doc: "Grains that the master keeps, by minion.",
      run: show("grains"),
    },
  ],
  [
    "cache.pillar",
    { parameters, takes: "keywords", doc: "Pillars that the master keeps, by minion.", run: show("pillar") },
  ],
  [
    "cache.mine",
    {
      parameters,
      takes: "keywords",
      doc: "Mines that the master keeps, by minion, with the limits on their readers.",
      run: show("mine"),
    },
  ],
  [
    "cache.clear_grains",
    { parameters, doc: "Forgets the grains of these minions.", run: clear(() => ({ ...nothing, hasGrains: true })) },
  ],
  [
    "cache.clear_pillar",
    { parameters, doc: "Forgets the pillars of these minions.", run: clear(() => ({ ...nothing, hasPillar: true })) },
  ],
  [
    "cache.clear_mine",
    { parameters, doc: "Forgets the mines of these minions.", run: clear(() => ({ ...nothing, mine: "whole" })) },
  ],
  [
    "cache.clear_mine_func",
    {
      parameters: [...parameters, ...parametersOf("clear_mine_func_flag")],
      doc: "Forgets one function of the mines of these minions.",
      run: clear((args) => {
        const name = args.get("clear_mine_func_flag") ?? null;
        return name === null ? undefined : { ...nothing, mine: [String(name)] };
      }),
    },
  ],
  [
    "cache.clear_all",
    {
      parameters,
      doc: "Forgets grains, pillars and mines of these minions.",
      run: clear(() => ({ hasGrains: true, hasPillar: true, mine: "whole" })),
    },
  ],
]);
