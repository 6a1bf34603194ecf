/** Functions of every template: Jinja's `range`, `dict`, `namespace`, `cycler` and `joiner`, Salt's `raise` and `odict`. */

import { templateRangeMax } from "../../../limits.ts";
import { strOf } from "../../../python/repr.ts";
import { type Dict, type Item, isInteger, Series, typeName } from "../../../python/values.ts";
import { updateDict } from "../python/methods-collections.ts";
import { bind } from "../values/arguments.ts";
import { type CallArguments, Callable, fault, Members, Namespace, typeFault } from "../values/objects.ts";

function range({ positional, named }: CallArguments): Item {
  if (named.size > 0) throw typeFault("range() takes no keyword arguments");
  const numbers = positional.map((item) => {
    if (!isInteger(item)) throw typeFault(`'${typeName(item)}' object cannot be interpreted as an integer`);
    return Number(item);
  });
  if (numbers.length === 0 || numbers.length > 3)
    throw typeFault(`range expected 1 to 3 arguments, got ${numbers.length}`);
  const [start = 0, stop = 0, step = 1] = numbers.length === 1 ? [0, numbers[0]] : numbers;
  if (step === 0) throw typeFault("range() arg 3 must not be zero");
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (count > templateRangeMax)
    throw typeFault(`Range too big. The sandbox blocks ranges larger than MAX_RANGE (${templateRangeMax}).`);
  return new Series(
    "range",
    Array.from({ length: count }, (_, index) => start + index * step),
  );
}

function dict(args: CallArguments): Item {
  const map: Dict = new Map();
  updateDict(map, args);
  return map;
}

function namespace(args: CallArguments): Item {
  const created = new Namespace();
  for (const [key, value] of dict(args) as Dict) created.members.set(strOf(key), value);
  return created;
}

function cycler({ positional }: CallArguments): Item {
  if (positional.length === 0) throw typeFault("at least one item has to be provided");
  let at = 0;
  const current = () => positional[at] ?? null;
  const next = () => {
    const item = current();
    at = (at + 1) % positional.length;
    return item;
  };
  const members: Readonly<Record<string, () => Item>> = {
    current,
    next: () => new Callable("next", next),
    reset: () =>
      new Callable("reset", () => {
        at = 0;
        return null;
      }),
  };
  return new Members("Cycler", (name) => (Object.hasOwn(members, name) ? members[name]?.() : undefined));
}

function joiner(args: CallArguments): Item {
  const separator = bind("joiner", "sep?", args).text("sep", ", ");
  let isUsed = false;
  return new Callable("joiner", () => {
    const text = isUsed ? separator : "";
    isUsed = true;
    return text;
  });
}

function refused(name: string): Callable {
  return new Callable(name, () => {
    throw fault("template", `the function '${name}' is not supported`);
  });
}

export const globals: readonly (readonly [string, Item])[] = [
  new Callable("cycler", cycler),
  new Callable("dict", dict),
  new Callable("joiner", joiner),
  new Callable("namespace", namespace),
  new Callable("odict", dict),
  new Callable("raise", (args) => {
    throw fault("python", strOf(bind("raise", "msg", args).need("msg")));
  }),
  new Callable("range", range),
  refused("ifelse"),
  refused("lipsum"),
  refused("show_full_context"),
].map((callable) => [callable.name, callable]);
