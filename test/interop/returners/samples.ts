/** Returns that both Salt's returners and ours get: ordinary ones and those with hostile texts. */
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { sampleReturn } from "../../minion/returners/passing.ts";

const hostile = 'it\'s "quoted" \\ back`tick`; DROP TABLE salt_returns; -- %s {0} \u00e9\u{1f600}\ttab\nline';

export const samples: readonly ValueMap[] = [
  sampleReturn(),
  sampleReturn({ return: hostile, fun: "cmd.run", fun_args: [hostile], jid: "20261123200000000002" }),
  sampleReturn({
    return: new Map<Value, Value>([
      ["a", [1, 1.5, null, true, [], new Map()]],
      [hostile, new Map([["x.y", "z"]])],
    ]),
    fun: "grains.items",
    fun_args: [
      new Map<Value, Value>([
        ["__kwarg__", true],
        ["k", 3],
      ]),
    ],
    jid: "20261123200000000003",
    metadata: new Map([["who", "me"]]),
  }),
  sampleReturn({ success: false, retcode: 1, return: "ERROR: no", out: "nested", jid: "20261123200000000004" }),
];

/** For JSON: maps become objects, members keep their order. */
export function plain(value: Value): unknown {
  if (value instanceof Map)
    return Object.fromEntries(Array.from(value, ([key, member]) => [String(key), plain(member)]));
  return Array.isArray(value) ? value.map(plain) : value;
}
