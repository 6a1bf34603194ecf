/** Python's `text.format(...)`, as Jinja's sandbox allows it: fields by number, name, member and item, with specifications. */

import { raised } from "../errors.ts";
import { reprOf, strOf } from "../repr.ts";
import { demand, type Item, PythonObject, typeName } from "../values.ts";
import { formatSpec } from "./spec.ts";

const depthMax = 2;

export type FormatArguments = { readonly positional: readonly Item[]; readonly named: ReadonlyMap<string, Item> };
/** Python's `item[key]`; undefined if `item` is not subscriptable. */
type Subscript = (item: Item, key: Item) => Item | undefined;

class Formatter {
  readonly #args: FormatArguments;
  readonly #subscript: Subscript;
  #nextAutomatic = 0;

  constructor(args: FormatArguments, subscript: Subscript) {
    this.#args = args;
    this.#subscript = subscript;
  }

  format(text: string, depth: number): string {
    if (depth > depthMax) throw raised("ValueError", "Max string recursion exceeded");
    let out = "";
    for (let at = 0; at < text.length; at += 1) {
      const letter = text.charAt(at);
      const isDouble = text.charAt(at + 1) === letter;
      if (letter === "}") {
        if (!isDouble) throw raised("ValueError", "Single '}' encountered in format string");
        out += "}";
        at += 1;
      } else if (letter !== "{") out += letter;
      else if (isDouble) {
        out += "{";
        at += 1;
      } else {
        const end = closingBrace(text, at + 1);
        out += this.#field(text.slice(at + 1, end), depth);
        at = end;
      }
    }
    return out;
  }

  #field(field: string, depth: number): string {
    const [, name = "", conversion, spec = ""] =
      /^([^!:[]*(?:\[[^\]]*\][^!:[]*)*)(?:!(.))?(?::([\s\S]*))?$/s.exec(field) ?? [];
    if (name === "" && field !== "" && !/^[!:]/.test(field))
      throw raised("ValueError", "expected ':' after conversion specifier");
    const item = this.#lookUp(name);
    if (conversion !== undefined && !"rsa".includes(conversion))
      throw raised("ValueError", `Unknown conversion specifier ${conversion}`);
    const shown = conversion === "s" ? strOf(item) : conversion === undefined ? item : reprOf(item);
    return formatSpec(shown, this.format(spec, depth + 1));
  }

  #lookUp(name: string): Item {
    const [, first = "", rest = ""] = /^([^.[]*)([\s\S]*)$/.exec(name) ?? [];
    let item = this.#argument(first);
    for (const [, member, key] of rest.matchAll(/\.([^.[]*)|\[([^\]]*)\]/g)) {
      if (key !== undefined) {
        const found = this.#subscript(item, /^\d+$/.test(key) ? Number(key) : key);
        if (found === undefined) throw raised("TypeError", `'${typeName(item)}' object is not subscriptable`);
        item = demand(found);
      } else item = memberOf(item, member ?? "");
    }
    return demand(item);
  }

  #argument(first: string): Item {
    if (first === "" || /^\d+$/.test(first)) {
      const index = first === "" ? this.#nextAutomatic : Number(first);
      if (first === "") this.#nextAutomatic += 1;
      const item = this.#args.positional[index];
      if (item === undefined)
        throw raised("IndexError", `Replacement index ${index} out of range for positional args tuple`);
      return item;
    }
    const item = this.#args.named.get(first);
    if (item === undefined) throw raised("KeyError", reprOf(first));
    return item;
  }
}

/** Python's `item.name`, only for objects whose members are data. Members of other values are methods, which have no useful text. */
function memberOf(item: Item, name: string): Item {
  const found = item instanceof PythonObject ? item.member(name) : undefined;
  if (found === undefined) throw raised("TypeError", `'${typeName(item)}' object has no attribute '${name}'`);
  return demand(found);
}

function closingBrace(text: string, start: number): number {
  let depth = 1;
  for (let at = start; at < text.length; at += 1) {
    if (text.charAt(at) === "{") depth += 1;
    if (text.charAt(at) === "}") depth -= 1;
    if (depth === 0) return at;
  }
  throw raised("ValueError", "expected '}' before end of string");
}

/** @throws PYTHON_RAISED as Python would raise */
export function formatText(text: string, args: FormatArguments, subscript: Subscript): string {
  return new Formatter(args, subscript).format(text, 0);
}
