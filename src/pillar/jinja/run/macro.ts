/** Binds a macro's arguments by Jinja's rules: missing ones are undefined, surplus ones are an error unless the macro accepts them. */

import { type Dict, type Item, Tuple } from "../../../python/values.ts";
import type { MacroParts } from "../syntax/ast.ts";
import { type CallArguments, typeFault, Undefined } from "../values/objects.ts";

/** Whether a tree mentions a name. */
export function mentions(tree: unknown, name: string): boolean {
  if (Array.isArray(tree)) return tree.some((part) => mentions(part, name));
  if (typeof tree !== "object" || tree === null) return false;
  if ("kind" in tree && tree.kind === "name" && "name" in tree && tree.name === name) return true;
  return Object.values(tree).some((part) => mentions(part, name));
}

/** Names and values for the macro's scope. The caller evaluates `fallbacks` in order for missing parameters. */
export function bindMacro(macro: MacroParts, args: CallArguments): ReadonlyMap<string, Item> {
  const values = new Map<string, Item>();
  const names = macro.parameters.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    const value = index < args.positional.length ? args.positional[index] : args.named.get(name);
    if (value !== undefined) values.set(name, value);
  }
  const more = args.positional.slice(names.length);
  const others = [...args.named].filter(([name]) => !names.includes(name) && name !== "caller");
  bindCaller(macro, args, values);
  if (mentions(macro.body, "varargs")) values.set("varargs", new Tuple(more));
  else if (more.length > 0) throw typeFault(`macro '${macro.name}' takes not more than ${names.length} argument(s)`);
  if (mentions(macro.body, "kwargs")) values.set("kwargs", new Map(others) as Dict);
  else if (others[0] !== undefined)
    throw typeFault(`macro '${macro.name}' takes no keyword argument '${others[0][0]}'`);
  return values;
}

function bindCaller(macro: MacroParts, args: CallArguments, values: Map<string, Item>): void {
  const caller = args.named.get("caller");
  if (macro.parameters.some(({ name }) => name === "caller")) return;
  if (mentions(macro.body, "caller")) values.set("caller", caller ?? new Undefined("No caller defined"));
  else if (caller !== undefined) throw typeFault(`macro '${macro.name}' takes no keyword argument 'caller'`);
}

export function missingParameter(name: string): Undefined {
  return new Undefined(`parameter '${name}' was not provided`);
}
