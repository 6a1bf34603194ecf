/** The variable `loop` of a `for`. Source: Jinja 3.1's `LoopContext`. */

import { type Item, isEqual, itemOr, Tuple } from "../../../python/values.ts";
import { Callable, Members, typeFault, Undefined } from "../values/objects.ts";

type LoopState = { changed: Item | undefined };

function cycle(index: number): Item {
  return new Callable("cycle", ({ positional }) => {
    if (positional.length === 0) throw typeFault("no items for cycling given");
    return positional[index % positional.length] ?? null;
  });
}

function changed(state: LoopState): Item {
  return new Callable("changed", ({ positional }) => {
    const value = new Tuple(positional);
    const isChanged = state.changed === undefined || !isEqual(state.changed, value);
    state.changed = value;
    return isChanged;
  });
}

/** Computed on demand, because most loops use one member or none. */
function memberOf(
  name: string,
  items: readonly Item[],
  index: number,
  depth: number,
  state: LoopState,
): Item | undefined {
  switch (name) {
    case "index":
      return index + 1;
    case "index0":
      return index;
    case "revindex":
      return items.length - index;
    case "revindex0":
      return items.length - index - 1;
    case "first":
      return index === 0;
    case "last":
      return index === items.length - 1;
    case "length":
      return items.length;
    case "depth":
      return depth + 1;
    case "depth0":
      return depth;
    case "previtem":
      return itemOr(items[index - 1], () => new Undefined("there is no previous item"));
    case "nextitem":
      return itemOr(items[index + 1], () => new Undefined("there is no next item"));
    case "cycle":
      return cycle(index);
    case "changed":
      return changed(state);
    default:
      return undefined;
  }
}

/** `recurse` is set in a recursive loop: it runs the loop over other items and returns their text. */
export function loopOf(
  items: readonly Item[],
  index: number,
  depth: number,
  state: LoopState,
  recurse: ((items: Item) => Item) | undefined,
): Item {
  const get = (name: string) => memberOf(name, items, index, depth, state);
  return recurse === undefined ? new Members("LoopContext", get) : new RecursiveLoop(get, recurse);
}

/** The variable `loop` of a recursive loop, which templates may call. */
export class RecursiveLoop extends Members {
  readonly recurse: (items: Item) => Item;
  constructor(get: (name: string) => Item | undefined, recurse: (items: Item) => Item) {
    super("LoopContext", get);
    this.recurse = recurse;
  }
}
