/** The return of states as Elasticsearch stores it: numbered in the order of their run, and counted. Source: Salt 3007's `elasticsearch` returner. */

import { printedOf, strOf } from "../../../python/repr.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";

const stateFunctions = ["state.apply", "state.highstate", "state.sls"];

export type StateChoice = { readonly isOrdered: boolean; readonly isCounted: boolean };
export type StateDocument = {
  readonly value: Value;
  readonly counts: ValueMap;
  readonly isOrdered: boolean;
  readonly isState: boolean;
};

/** The value itself if `fun` runs no states. */
export function stateDocument(fun: string, value: Value, { isOrdered, isCounted }: StateChoice): StateDocument {
  const isState = stateFunctions.includes(fun);
  if (!isState) return { value, counts: new Map(), isOrdered: false, isState };
  // A text, such as the reason why nothing ran, would not fit the mapping of the field.
  const states: ValueMap = value instanceof Map ? value : new Map([["return", value]]);
  const counts = isCounted ? countsOf(states) : new Map();
  const hasOrder = isOrdered && value instanceof Map;
  return { value: hasOrder ? ordered(states) : states, counts, isOrdered: hasOrder, isState };
}

function ordered(states: ValueMap): ValueMap {
  const width = String(states.size).length;
  const numbered = Array.from(states, ([name, data]): [Value, Value] => {
    if (!(data instanceof Map)) return [name, data];
    const parts = strOf(name).split("_|-");
    const number = printedOf(data.get("__run_num__") ?? 0).padStart(width, "0");
    return [`${number}_|-${strOf(name)}`, new Map(data).set("_func", `${parts[0]}.${parts.at(-1)}`)];
  });
  return new Map(numbered);
}

/** States of test mode, whose result is None, count as succeeded. A reason why nothing ran counts as failed. */
function countsOf(states: ValueMap): ValueMap {
  const isFailed = (data: Value) => !(data instanceof Map) || data.get("result") === false;
  const failed = [...states.values()].filter(isFailed).length;
  return new Map<Value, Value>([
    ["succeeded", states.size - failed],
    ["failed", failed],
  ]);
}
