/**
 * Source `stack` (PillarStack): templates list YAML templates, which see and extend the stack so far. Source: Salt 3007's module of that name,
 * observed. Templates reach only files below the directory of the list that names them.
 */
import { basename, dirname, join, relative } from "node:path";
import { isFile } from "../../config/files/kinds.ts";
import { SaltworksError } from "../../errors.ts";
import { extPillarBytesMax } from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { type Dict, type Item, itemOr, typeName } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { filesNamed } from "../input/file-glob.ts";
import { reasonOf, sourceFault } from "../input/source-fault.ts";
import { loadYaml } from "../input/yaml.ts";
import { traverse } from "../jinja/filters/data.ts";
import { lineOf } from "../jinja/run/evaluate.ts";
import { bind } from "../jinja/values/arguments.ts";
import { Callable, Members } from "../jinja/values/objects.ts";
import type { ExternalSource, SourceArguments, SourceContext, TreePlace } from "./contract.ts";
import { stackMerged } from "./stack-merge.ts";

const environmentMark = "__env__";

function environmentOf({ pillarenv, saltenv }: SourceContext): string {
  return pillarenv || saltenv || "base";
}

/** The lists that keywords such as `grains:os` choose: a map from the value to one path or several. */
function chosenLists(context: SourceContext, args: SourceArguments): readonly string[] {
  const environment = environmentOf(context);
  const opts = context.settings.opts();
  const places: Readonly<Record<string, Dict>> = {
    pillar: context.pillar,
    grains: context.minion.grains,
    opts: opts.set("saltenv", context.saltenv ?? null).set("pillarenv", context.pillarenv ?? null),
  };
  return [...args].flatMap(([keyword, choices]) => {
    const [place = "", ...rest] = keyword.split(":");
    if (rest.length === 0) throw sourceFault("not enough values to unpack (expected 2, got 1)");
    const data = Object.hasOwn(places, place) ? places[place] : undefined;
    if (data === undefined)
      throw sourceFault(`Unknown traverse option "${place}", should be one of dict_keys(['pillar', 'grains', 'opts'])`);
    if (!(choices instanceof Map)) throw sourceFault(`argument of type '${typeName(choices)}' is not iterable`);
    const value = traverse(data, rest.join(":"), null, ":");
    if (Array.isArray(value) || value instanceof Map) throw sourceFault(`unhashable type: '${typeName(value)}'`);
    const paths =
      choices.get(value as Value) ?? (value === environment ? choices.get(environmentMark) : undefined) ?? [];
    return (Array.isArray(paths) ? paths : [paths]).map((path) => strOf(path).replaceAll(environmentMark, environment));
  });
}

/** `__stack__.traverse`. */
const traverseFunction = new Callable("traverse", (args) => {
  const bound = bind("traverse", "data key default? delimiter?", args);
  const fallback = itemOr(bound.get("default"), () => null);
  return traverse(bound.need("data"), bound.need("key"), fallback, bound.text("delimiter", ":"));
});

function globalsOf(context: SourceContext, list: string): TreePlace["globals"] {
  const own = new Map<string, Item>([
    ["traverse", traverseFunction],
    ["cfg_path", list],
  ]);
  return [
    ["__stack__", new Members("dict", (name) => own.get(name))],
    ["minion_id", context.minion.id],
    ["pillar", context.pillar],
    ["pillarenv", context.pillarenv ?? null],
  ];
}

function linesOf(text: string): readonly string[] {
  try {
    const value = loadYaml(text);
    if (Array.isArray(value)) return value.map(strOf);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
  }
  return text.split(/\r\n|\r|\n/);
}

/** Extends the stack by the files that one list names. */
class StackList {
  readonly #context: SourceContext;
  readonly #root: string;
  readonly #list: string;
  readonly #globals: TreePlace["globals"];
  #bytes = 0;

  constructor(context: SourceContext, list: string) {
    this.#context = context;
    this.#list = list;
    this.#root = dirname(list);
    this.#globals = globalsOf(context, list);
  }

  extend(stack: ValueMap): ValueMap {
    let result = stack;
    const named = this.#render(basename(this.#list), [["stack", result]]);
    for (const item of linesOf(named)) {
      if (item.trim() === "") continue;
      const paths = looked(item, () => filesNamed(item.startsWith("/") ? item : join(this.#root, item)));
      if (paths.length === 0) this.#context.note(`stack template ${item} is not there`);
      for (const path of paths.toSorted()) {
        const value = this.#value(path, result);
        if (value instanceof Map) result = stackMerged(result, value);
      }
    }
    return result;
  }

  #render(path: string, names: readonly (readonly [string, Item])[]): string {
    return this.#context.renderTree({ root: this.#root, path, globals: this.#globals }, names);
  }

  #value(path: string, stack: ValueMap): Value {
    let text: string;
    try {
      text = this.#render(relative(this.#root, path), [
        ["stack", stack],
        ["ymlpath", path],
      ]);
    } catch (error) {
      throw faultIn(error, (message, line) => `Stack pillar template render error in ${path}${line}:\n"${message}"`);
    }
    this.#bytes += text.length;
    if (this.#bytes > extPillarBytesMax) throw sourceFault(`more than ${extPillarBytesMax} characters of files`);
    try {
      return loadYaml(text);
    } catch (error) {
      // Without the reader's message and the text, because both may hold secrets.
      throw faultIn(error, (_message, line) => `Stack pillar yaml parsing error in ${path}${line}`);
    }
  }
}

/** A path that cannot be looked at (a folder of another user, a name that is too long) is an error, because its values would be missing silently. */
function looked<T>(path: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof SaltworksError) throw error;
    throw Object.assign(sourceFault(`${path.slice(0, 256)} cannot be looked at: ${reasonOf(error)}`), { cause: error });
  }
}

function faultIn(error: unknown, text: (message: string, line: string) => string): unknown {
  if (!(error instanceof SaltworksError)) return error;
  const line = lineOf(error) ?? error.detail.line;
  return Object.assign(sourceFault(text(error.message, line === undefined ? "" : `, line ${line}`)), { cause: error });
}

export const stack: ExternalSource = {
  parameters: [],
  requiredCount: 0,
  takes: "all",
  // A minion that may ask for this source could choose the files.
  isForMinions: false,
  read: (context, args) => {
    let result: ValueMap = new Map();
    for (const list of [...args.rest.map(strOf), ...chosenLists(context, args)]) {
      if (looked(list, () => isFile(list))) result = new StackList(context, list).extend(result);
      else context.note(`stack list ${list} is not there`);
    }
    return result;
  },
};
