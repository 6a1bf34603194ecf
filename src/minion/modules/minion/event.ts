/** Execution module `event`: events to the master and to the minion's own bus. Source: Salt 3007's `event`, docs/functions.md. */

import { strOf } from "../../../python/repr.ts";
import { contains, isTrue } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import type { Environment } from "../machine/environment.ts";

export function eventModule(environment: Environment): ModuleFunctions {
  return {
    "event.fire_master": {
      ...signature("data, tag, preload=None"),
      doc: describe("Sends an event to the master.", "event.fire_master '{data: my event data}' 'tag'"),
      run: (context, args) => fireMaster(context, strOf(argument(args, "tag")), argument(args, "data")),
    },
    "event.fire": {
      ...signature("data, tag"),
      doc: describe("Fires an event on the minion's own bus.", "event.fire '{data: my event data}' 'tag'"),
      run: (context, args) => fireMinion(context, strOf(argument(args, "tag")), argument(args, "data")),
    },
    "event.send": {
      ...signature(
        "tag, data=None, preload=None, with_env=False, with_grains=False, with_pillar=False, with_env_opts=False, **kwargs",
      ),
      doc: describe(
        "Sends an event to the master, with the named arguments and on request facts of the minion as its data.",
        "event.send myco/mytag foo=Foo bar=Bar",
        "event.send myco/mytag '{foo: Foo}' with_grains='[os, id]'",
      ),
      run: (context, args) => {
        const tag = strOf(argument(args, "tag"));
        const data = eventData(context, environment, args);
        const isAlone = context.config.file_client === "local" || context.config.master_type === "disable";
        return isAlone ? fireMinion(context, tag, data) : fireMaster(context, tag, data);
      },
    },
  };
}

/** @returns False without a master, as Salt does */
async function fireMaster(context: CallContext, tag: string, data: Value): Promise<boolean> {
  if (context.config.file_client === "local") {
    context.log.warn(`Local mode detected. Event with tag ${tag} will NOT be sent.`);
    return false;
  }
  return await context.fireMaster(tag, data);
}

async function fireMinion(context: CallContext, tag: string, data: Value): Promise<boolean> {
  await context.fireMinion(tag, data);
  return true;
}

function eventData(context: CallContext, environment: Environment, args: BoundArguments): ValueMap {
  const data: ValueMap = new Map();
  const variables = Object.entries(environment).map(([name, value]): [Value, Value] => [name, value ?? ""]);
  const facts: readonly (readonly [string, string, ValueMap])[] = [
    ["with_env", "environ", new Map(variables)],
    ["with_grains", "grains", context.grains()],
    ["with_pillar", "pillar", context.pillar()],
  ];
  for (const [option, name, all] of facts) {
    const wanted = argument(args, option);
    if (isTrue(wanted)) data.set(name, Array.isArray(wanted) ? subset(all, wanted) : all);
  }
  if (isTrue(argument(args, "with_env_opts"))) {
    data.set("saltenv", context.config.saltenv ?? "base");
    data.set("pillarenv", context.config.pillarenv);
  }
  // As in Salt, the event has the fields of the publish, which show the job that sent it.
  for (const [name, value] of args.extra) data.set(name, value);
  const given = argument(args, "data");
  if (given instanceof Map) for (const [name, value] of given) data.set(name, value);
  return data;
}

function subset(map: ValueMap, names: Value[]): ValueMap {
  return new Map(Array.from(map).filter(([name]) => contains(names, name)));
}
