/**
 * The mine: functions whose results the minion leaves with its master, for others to read.
 * Source: docs/protocol.md section 7.1 (`_mine`) and Salt's forms of `mine_functions`.
 */
import type { ConfigValue } from "../config/option.ts";
import { isConfigMap } from "../config/salt-yaml.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import { bindCall } from "./binding.ts";
import { makeContext, type Surroundings } from "./call-context.ts";
import { configToValue } from "./yaml-values.ts";

/** Functions by the name they are stored under; the configuration's win over the pillar's. */
export function mineFunctions(configured: ConfigValue, pillar: ValueMap): ValueMap {
  const functions: ValueMap = new Map();
  const fromPillar = pillar.get("mine_functions");
  for (const source of [fromPillar, configToValue(configured)]) {
    if (source instanceof Map) for (const [name, form] of source) functions.set(name, form);
    if (Array.isArray(source)) for (const name of source) functions.set(name, []);
  }
  return functions;
}

export function hasMineFunctions(configured: ConfigValue, pillar: ValueMap): boolean {
  return (
    (isConfigMap(configured) || Array.isArray(configured) || pillar.has("mine_functions")) &&
    mineFunctions(configured, pillar).size > 0
  );
}

type MineCall = { readonly fun: string; readonly args: readonly Value[]; readonly kwargs: ValueMap };

/** `fun: [args]`, `fun: {kwargs}`, `name: [{mine_function: fun}, {k: v}, args]`, `name: {mine_function: fun, ..}`. */
function readForm(name: string, form: Value): MineCall {
  const kwargs: ValueMap = new Map();
  const args: Value[] = [];
  for (const part of Array.isArray(form) ? form : [form]) {
    if (part instanceof Map) for (const [key, value] of part) kwargs.set(key, value);
    else if (part !== null) args.push(part);
  }
  const fun = kwargs.get("mine_function");
  kwargs.delete("mine_function");
  return { fun: typeof fun === "string" ? fun : name, args, kwargs };
}

/** Runs every function; one that fails or is not there is left out and logged. */
export async function collectMine(
  surroundings: Surroundings,
  functions: ValueMap,
): Promise<ReadonlyMap<Value, Encodable>> {
  const data = new Map<Value, Encodable>();
  for (const [name, form] of functions) {
    const { fun, args, kwargs } = readForm(String(name), form);
    const access = takeAccess(kwargs);
    const target = surroundings.functions.get(fun);
    if (target === undefined) {
      surroundings.log.error(`Function ${fun} in mine.update failed to execute: it is not available`);
      continue;
    }
    try {
      const { context } = makeContext(surroundings, { jid: "", fun, publish: new Map() });
      const value = await target.run(context, bindCall(target, fun, args, kwargs));
      data.set(name, access === undefined ? value : { __data__: value, __saltmine_acl__: 1, ...access });
    } catch (error) {
      surroundings.log.error(
        `Function ${fun} in mine.update failed to execute: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
  return data;
}

/** Who may read an entry, taken out of what the function is called with. */
function takeAccess(kwargs: ValueMap): { readonly [name: string]: Encodable } | undefined {
  const target = kwargs.get("allow_tgt");
  const kind = kwargs.get("allow_tgt_type");
  kwargs.delete("allow_tgt");
  kwargs.delete("allow_tgt_type");
  return target === undefined ? undefined : { allow_tgt: target, allow_tgt_type: kind };
}
