/** Finds the chunks that run at a run's end because a state to which they listen has changes (`listen`, `listen_in`). */

import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { Value } from "../../wire/values.ts";
import type { LowChunk } from "../compile/contract.ts";
import { argumentsOf, requisiteNames } from "../compile/read.ts";
import type { Results, StateResult } from "./contract.ts";
import { hasChanges, stateResult, tagOf } from "./result.ts";

/** `listeners`: the module and the id or name of the chunks that listen. `to`: what they listen to. */
type Listening = { readonly module: Value; readonly name: Value; readonly to: Value };

/** `errors`: results for states that do not exist, by their tag. */
export function heardChunks(
  chunks: readonly LowChunk[],
  running: Results,
): { readonly chunks: readonly LowChunk[]; readonly errors: Results } {
  const heard: LowChunk[] = [];
  const errors: Results = new Map();
  const named = (module: Value, name: Value) =>
    chunks.filter((chunk) => chunk.get("state") === module && [...identity(chunk)].includes(name));
  for (const { module, name, to } of listenings(chunks)) {
    for (const [kind, meant] of pairsOf(to, chunks)) {
      const sources = named(kind, meant);
      if (sources.length === 0) addMissing(errors, kind, meant);
      for (const source of sources) {
        const result = running.get(tagOf(source));
        if (result === undefined || !hasChanges(result)) continue;
        const listeners = named(module, name);
        if (listeners.length === 0) addMissing(errors, module, name);
        heard.push(...listeners.map(asListener));
      }
    }
  }
  return { chunks: heard, errors };
}

/** What a `listen` may name: the module, the id and the name. */
function identity(chunk: LowChunk): readonly Value[] {
  return ["state", "__id__", "name"].map((key) => chunk.get(key) ?? null);
}

function listenings(chunks: readonly LowChunk[]): Listening[] {
  return chunks.flatMap((chunk) => {
    const [module = null, id = null] = identity(chunk);
    const own = argumentsOf(chunk.get("listen")).map((to): Listening => ({ module, name: id, to }));
    const others = argumentsOf(chunk.get("listen_in")).flatMap((target) =>
      target instanceof Map
        ? Array.from(target, ([key, name]): Listening => ({ module: key, name, to: new Map([[module, id]]) }))
        : [],
    );
    return [...own, ...others];
  });
}

/** An entry without a module means the last state of that id or name. */
function pairsOf(to: Value, chunks: readonly LowChunk[]): [Value, Value][] {
  if (to instanceof Map) return [...to];
  const chunk = chunks.findLast((one) => one.get("__id__") === to || one.get("name") === to);
  return chunk === undefined ? [] : [[chunk.get("state") ?? null, chunk.get("__id__") ?? null]];
}

function asListener(chunk: LowChunk): LowChunk {
  const low = new Map(chunk);
  low.set("sfun", chunk.get("fun") ?? null).set("fun", "mod_watch");
  low.set("__id__", `listener_${strOf(chunk.get("__id__") ?? null)}`);
  for (const name of requisiteNames) low.delete(name);
  return low;
}

function addMissing(errors: Map<string, StateResult>, module: Value, name: Value): void {
  const [kind, text] = [strOf(module), strOf(name)];
  const result = stateResult(`listen_${kind}:${text}`, false, `Referenced state ${kind}: ${text} does not exist`);
  if (isTrue(module)) errors.set(`Listen_Error_|-listen_${text}_|-listen_${kind}_|-Listen_Error`, result);
}
