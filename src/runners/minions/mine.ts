/** Runner `mine`: values of minions' mines, as a minion with the master's own id may read them. */

import { hasCode, SaltworksError } from "../../errors.ts";
import { matchesKnown } from "../../target/expected.ts";
import { ParsedTargets } from "../../target/parsed.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { listArgument, parametersOf, targetArgument, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

const masterEnd = "_master";
const guardKey = "__saltmine_acl__";
const dataKey = "__data__";
const targets = new ParsedTargets();

async function get(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const reader = context.config.id.endsWith(masterEnd)
    ? context.config.id.slice(0, -masterEnd.length)
    : context.config.id;
  const asked = args.get("fun") ?? "";
  const functions = listArgument(asked) ?? [];
  const isByFunction = Array.isArray(asked) || functions.length > 1;
  const ids = [...(await masterOf(context).match(targetArgument(args, "")))].sort();
  const found = new Map<string, Map<string, Encodable>>();
  for (const id of ids) {
    const stored = context.minions?.getMine(id);
    const mine = stored === undefined ? undefined : decode(stored);
    if (!(mine instanceof Map)) continue;
    for (const name of functions) {
      const value = mine.has(name) ? opened(mine.get(name) ?? null, reader) : undefined;
      if (value !== undefined) found.set(name, (found.get(name) ?? new Map<string, Encodable>()).set(id, value));
    }
  }
  return isByFunction ? found : (found.get(textArgument(args, "fun")) ?? {});
}

/** An entry's value; undefined if its target does not match the master's id. */
function opened(entry: Value, reader: string): Value | undefined {
  if (!(entry instanceof Map) || !entry.has(guardKey)) return entry;
  if (!entry.has("allow_tgt")) return entry.get(dataKey);
  const [target, kind] = [entry.get("allow_tgt"), entry.get("allow_tgt_type")];
  try {
    const expression = Array.isArray(target) ? target.map(String) : String(target ?? "");
    const parsed = targets.parse(kind === undefined || kind === null ? "glob" : String(kind), expression, ":");
    return matchesKnown(parsed, reader, undefined) ? entry.get(dataKey) : undefined;
  } catch (error) {
    // An invalid target allows no reader.
    if (!(error instanceof SaltworksError) || !hasCode(error, "TARGET_INVALID")) throw error;
    return undefined;
  }
}

export const mineRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "mine.get",
    {
      parameters: parametersOf("tgt!", "fun!", "tgt_type"),
      doc: "Mine values of a function, by minion; several functions by function first.",
      run: get,
    },
  ],
]);
