/** Execution module `mine`: values that a minion sends to its master for other minions. Source: Salt 3007's `mine`, docs/functions.md. */

import { SaltworksError } from "../../../errors.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value, ValueMap } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, ownKeywords, signature } from "../declare/signature.ts";
import { mergedSetting } from "./config.ts";

export const mineModule: ModuleFunctions = {
  "mine.update": {
    ...signature("clear=False, mine_functions=None"),
    doc: describe(
      "Runs the functions of `mine_functions`, as given or from configuration and pillar, and sends their results to the master.\n`clear` replaces what the master has.",
      "mine.update",
      "mine.update mine_functions='[test.ping]'",
    ),
    run: update,
  },
  "mine.send": {
    ...signature("name, *args, **kwargs"),
    doc: describe(
      "Sends the result of one function to the master. `mine_function` names the function if the result has another name.",
      "mine.send network.ip_addrs interface=eth0",
      "mine.send eth0_ips mine_function=network.ip_addrs interface=eth0 allow_tgt='web*'",
    ),
    run: sendOne,
  },
  "mine.get": {
    ...signature("tgt, fun, tgt_type='glob', exclude_minion=False"),
    doc: describe(
      "The values of the targeted minions, by minion; with several functions by function and minion.",
      "mine.get '*' network.interfaces",
      "mine.get os:Debian network.ip_addrs grain exclude_minion=True",
    ),
    run: get,
  },
  "mine.delete": {
    ...signature("fun"),
    doc: describe("Makes the master forget one of this minion's values.", "mine.delete network.interfaces"),
    run: (context, args) => tell(context, { cmd: "_mine_delete", fun: argument(args, "fun") }),
  },
  "mine.flush": {
    ...signature(""),
    doc: describe("Makes the master forget all of this minion's values.", "mine.flush"),
    run: (context) => tell(context, { cmd: "_mine_flush" }),
  },
  "mine.valid": {
    ...signature(""),
    doc: describe("The functions of `mine_functions` that can be run.", "mine.valid"),
    run: (context) => validFunctions(context),
  },
};

type MineCall = {
  /** Undefined if the entry has the function's name. */
  readonly fun: string | undefined;
  readonly args: readonly Value[];
  readonly kwargs: ValueMap;
  readonly access: Access;
};
/** Which minions may read an entry. Without a target, all may. */
type Access = { readonly allow_tgt?: Value; readonly allow_tgt_type?: Value };

function configuredFunctions(context: CallContext): ValueMap | undefined {
  const functions = mergedSetting(context, undefined, "mine_functions", new Map());
  return functions instanceof Map && functions.size > 0 ? functions : undefined;
}

/** Reads an entry: `fun: [args]`, `fun: {kwargs}`, `name: [{mine_function: fun}, args, {k: v}]`, `name: {mine_function: fun, k: v}`. */
function parseCall(form: Value): MineCall {
  const kwargs: ValueMap = new Map();
  const args: Value[] = [];
  for (const part of Array.isArray(form) ? form : form instanceof Map ? [form] : []) {
    if (part instanceof Map) for (const [name, value] of part) kwargs.set(name, value);
    else args.push(part);
  }
  const fun = take(kwargs, "mine_function");
  return { fun: fun === undefined ? undefined : strOf(fun), args, kwargs, access: takeAccess(kwargs) };
}

function take(map: ValueMap, name: string): Value | undefined {
  const value = map.get(name);
  map.delete(name);
  return value === undefined || !isTrue(value) ? undefined : value;
}

function takeAccess(kwargs: ValueMap): Access {
  const target = take(kwargs, "allow_tgt");
  const kind = take(kwargs, "allow_tgt_type");
  if (target === undefined) return {};
  return { allow_tgt: target, ...(kind === undefined ? {} : { allow_tgt_type: kind }) };
}

function guarded(value: Encodable, access: Access): Encodable {
  return access.allow_tgt === undefined ? value : { __data__: value, __saltmine_acl__: 1, ...access };
}

async function update(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const given = argument(args, "mine_functions");
  const functions = isTrue(given) ? namedFunctions(given) : configuredFunctions(context);
  if (functions === undefined) return null;
  const data = new Map<Value, Encodable>();
  for (const [name, form] of functions) {
    const call = parseCall(form);
    const fun = call.fun ?? strOf(name);
    if (!context.functions.has(fun)) {
      context.log.error(`Function ${fun} in mine_functions not available`);
      continue;
    }
    try {
      data.set(name, guarded(await context.callFunction(fun, call.args, call.kwargs), call.access));
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      context.log.error(`Function ${fun} in mine.update failed to execute: ${error.message}`);
    }
  }
  return await store(context, data, isTrue(argument(args, "clear")));
}

function namedFunctions(given: Value): ValueMap | undefined {
  if (given instanceof Map) return given;
  return Array.isArray(given) ? new Map(given.map((name): [Value, Value] => [name, new Map()])) : undefined;
}

async function sendOne(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const name = argument(args, "name");
  const kwargs = ownKeywords(args);
  const fun = take(kwargs, "mine_function") ?? name;
  const access = takeAccess(kwargs);
  let value: Encodable;
  try {
    value = await context.callFunction(strOf(fun), args.rest, kwargs);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    context.log.error(`Function ${strOf(fun)} in mine.send failed to execute: ${error.message}`);
    return false;
  }
  return await store(context, new Map([[name, guarded(value, access)]]), false);
}

async function store(context: CallContext, data: ReadonlyMap<Value, Encodable>, isCleared: boolean): Promise<boolean> {
  return await tell(context, { cmd: "_mine", data, clear: isCleared });
}

async function tell(context: CallContext, load: { readonly [name: string]: Encodable }): Promise<boolean> {
  return isTrue(await context.masterRequest(load));
}

async function get(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const found = await context.masterRequest({
    cmd: "_mine_get",
    tgt: argument(args, "tgt"),
    fun: argument(args, "fun"),
    tgt_type: argument(args, "tgt_type"),
  });
  if (found instanceof Map && isTrue(argument(args, "exclude_minion"))) found.delete(context.config.id);
  return found;
}

function validFunctions(context: CallContext): Encodable {
  const functions = configuredFunctions(context);
  if (functions === undefined) return null;
  const valid = new Map<Value, Encodable>();
  for (const [name, form] of functions) {
    const { fun, args, kwargs } = parseCall(form);
    if (!context.functions.has(fun ?? strOf(name))) {
      context.log.error(`Function ${fun ?? strOf(name)} in mine_functions not available`);
    } else if (fun === undefined) {
      valid.set(name, form);
    } else {
      const keywords = Array.from(kwargs, ([key, value]) => new Map([[key, value]]));
      valid.set(name, new Map([[fun, [...args, ...keywords]]]));
    }
  }
  return valid;
}
