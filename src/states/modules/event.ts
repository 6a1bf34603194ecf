/** States `event.send` and `event.wait`: fire an event on the master's bus. Source: Salt 3007's states, recorded. */
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { StateContext, StateResult, StateTable } from "../run/contract.ts";
import { stateResult } from "../run/result.ts";

const params = {
  name: undefined,
  data: null,
  preload: null,
  with_env: false,
  with_grains: false,
  with_pillar: false,
  show_changed: true,
};

async function send({ host, isTest }: StateContext, args: ValueMap): Promise<StateResult> {
  const name = args.get("name") ?? null;
  const data = args.get("data") ?? null;
  const changes = new Map<Value, Value>([
    ["tag", name],
    ["data", data],
  ]);
  const shown = isTrue(args.get("show_changed") ?? true) ? changes : new Map();
  if (isTest) return stateResult(name, null, "Event would have been fired", shown);
  const keywords: ValueMap = new Map(args);
  for (const own of ["name", "show_changed", "sfun", "__reqs__"]) keywords.delete(own);
  const { value } = await host.call("event.send", [name], keywords);
  return stateResult(name, isTrue(value), "Event fired", shown);
}

export const eventStates: StateTable = {
  "event.send": { params, takesMore: true, run: send },
  "event.wait": {
    params: { name: undefined, sfun: null, data: null },
    run: (_context, args) => stateResult(args.get("name") ?? null, true, ""),
  },
  "event.mod_watch": {
    params: { ...params, sfun: null },
    takesMore: true,
    run: send,
  },
};
