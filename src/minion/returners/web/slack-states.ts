/** The part of a Slack message that counts states: total, unchanged, changed, failed. Source: Salt 3007's `slack_webhook`. */
import { printedOf, strOf } from "../../../python/repr.ts";
import { isTrue, numberOf } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";

export type StateReport = {
  readonly total: number;
  readonly seconds: number;
  readonly attachments: readonly ValueMap[] & Value[];
};

/** @returns undefined if the value is not the result of states */
export function stateReport(value: Value, showsTasks: boolean): StateReport | undefined {
  if (!(value instanceof Map)) return undefined;
  const [first] = value.values();
  if (!(first instanceof Map) || !first.has("__id__")) return undefined;
  const states = [...value].flatMap(([name, data]): [string, ValueMap][] =>
    data instanceof Map ? [[strOf(name), data]] : [],
  );
  states.sort(([, a], [, b]) => runNumber(a) - runNumber(b));
  const failed = states.filter(([, data]) => !isTrue(data.get("result") ?? true)).map(taskOf);
  const changed = states.filter(([, data]) => isTrue(data.get("changes") ?? null)).map(taskOf);
  const durations = states.map(([, data]) => Number(strOf(data.get("duration") ?? 0)));
  const milliseconds = durations.filter(Number.isFinite).reduce((sum, duration) => sum + duration, 0);
  const unchanged = states.length - failed.length - changed.length;
  const attachments = [
    attachment("good", `Unchanged: ${unchanged}`, []),
    attachment("warning", `Changed: ${changed.length}`, showsTasks ? changed : []),
    attachment("danger", `Failed: ${failed.length}`, showsTasks ? failed : []),
  ];
  return { total: states.length, seconds: milliseconds / 1_000, attachments };
}

function runNumber(data: ValueMap): number {
  return Number(numberOf(data.get("__run_num__") ?? 0) ?? 0);
}

/** `state` is `module_|-id_|-name_|-function`. */
function taskOf([state, data]: readonly [string, ValueMap]): string {
  return `${printedOf(data.get("__sls__") ?? null)}.sls | ${state.split("_|-")[1] ?? ""}`;
}

function attachment(color: string, title: string, tasks: readonly string[]): ValueMap {
  const map: ValueMap = new Map<Value, Value>([
    ["color", color],
    ["title", title],
  ]);
  const field = (task: string): ValueMap =>
    new Map<Value, Value>([
      ["value", task],
      ["short", false],
    ]);
  return tasks.length === 0 ? map : map.set("fields", tasks.map(field));
}
