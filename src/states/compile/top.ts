/** Reads the top files of states: which SLS files of which environment a minion runs. */
import { compileGlob } from "../../python/fnmatch.ts";
import { reprOf, strOf } from "../../python/repr.ts";
import { isTrue, typeName } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { SlsSource } from "./contract.ts";
import { argumentsOf, shown } from "./read.ts";

export type TopSettings = {
  readonly topFile: string;
  /** The run's environment. Without one, all environments count. */
  readonly environment: string | undefined;
  /** Only this environment's top file. */
  readonly topEnvironment: string | undefined;
  readonly strategy: string;
  readonly defaultTop: string;
  readonly environmentOrder: readonly string[];
};
/** By environment and target: kinds of target and names of SLS files. */
export type Top = Map<string, Map<Value, Value>>;
/** Whether a target of this kind means the minion. */
export type TargetMatch = (kind: string, target: string) => boolean;
type Tops = ReadonlyMap<string, readonly Value[]>;

export async function readTop(source: SlsSource, settings: TopSettings): Promise<Top> {
  const tops = new Map<string, Value[]>();
  for (const environment of await topEnvironments(source, settings)) {
    const file = await source.read(settings.topFile, environment);
    const value = file === undefined ? null : await source.render(file, "", environment);
    tops.set(environment, [isTrue(value) ? value : new Map()]);
  }
  for (const [environment, values] of tops) await readIncludes(source, environment, values);
  const merges: Readonly<Record<string, (tops: Tops, settings: TopSettings) => Top>> = {
    same: mergeSame,
    merge_all: mergeAll,
  };
  return (merges[settings.strategy] ?? mergeByBase)(tops, settings);
}

async function topEnvironments(source: SlsSource, settings: TopSettings): Promise<readonly string[]> {
  if (settings.environment !== undefined) return [settings.environment];
  if (settings.topEnvironment !== undefined) return [settings.topEnvironment];
  const known = await source.environments();
  if (settings.environmentOrder.length === 0) return [...new Set(["base", ...known])];
  const order = [...new Set(settings.environmentOrder)];
  return known.length === 0 ? order : order.filter((name) => known.includes(name));
}

async function readIncludes(source: SlsSource, environment: string, values: Value[]): Promise<void> {
  const wanted = values.flatMap((value) => [...argumentsOf(value instanceof Map ? value.get("include") : undefined)]);
  for (const value of values) if (value instanceof Map) value.delete("include");
  const done = new Set<string>();
  for (const pattern of wanted) {
    const glob = compileGlob(strOf(pattern));
    for (const sls of (await source.names(environment)).filter((name) => glob.matches(name))) {
      if (done.has(sls)) continue;
      done.add(sls);
      const base = sls.replaceAll(".", "/");
      const file =
        (await source.read(`${base}.sls`, environment)) ?? (await source.read(`${base}/init.sls`, environment));
      if (file !== undefined) values.push(await source.render(file, "", environment));
    }
  }
}

function sectionsOf(value: Value): [string, ValueMap][] {
  if (!(value instanceof Map)) return [];
  return Array.from(value, ([environment, targets]): [string, ValueMap] => [
    strOf(environment),
    targets instanceof Map ? targets : new Map(),
  ]).filter(([environment]) => environment !== "include");
}

function put(top: Top, environment: string, targets: ValueMap): void {
  const known = top.get(environment) ?? new Map<Value, Value>();
  for (const [target, states] of targets) known.set(target, states);
  if (targets.size > 0) top.set(environment, known);
}

/** `merge`: the top file of `base` decides; those of other environments add only their own section, if `base` has none. */
function mergeByBase(tops: Tops): Top {
  const top: Top = new Map();
  for (const value of tops.get("base") ?? [])
    for (const [environment, targets] of sectionsOf(value)) put(top, environment, targets);
  for (const [own, values] of tops) {
    if (own === "base") continue;
    for (const value of values)
      for (const [environment, targets] of sectionsOf(value))
        if (environment === own && !top.has(environment)) put(top, environment, targets);
  }
  return top;
}

/** `same`: each environment's own top file, or that of `default_top`. */
function mergeSame(tops: Tops, { defaultTop }: TopSettings): Top {
  const top: Top = new Map();
  const isEmpty = (values: readonly Value[]) => values.every((value) => value instanceof Map && value.size === 0);
  for (const [own, values] of tops) {
    const chosen = isEmpty(values) ? (tops.get(defaultTop) ?? []) : values;
    for (const value of chosen)
      for (const [environment, targets] of sectionsOf(value)) if (environment === own) put(top, environment, targets);
  }
  return top;
}

/** `merge_all`: all sections of all top files; the states of the same target join. */
function mergeAll(tops: Tops): Top {
  const top: Top = new Map();
  for (const value of [...tops.values()].flat()) {
    for (const [environment, targets] of sectionsOf(value)) {
      const known = top.get(environment) ?? new Map<Value, Value>();
      top.set(environment, known);
      for (const [target, states] of targets) {
        const before = known.get(target);
        known.set(target, before === undefined ? states : joined(argumentsOf(before), argumentsOf(states)));
      }
    }
  }
  return top;
}

function joined(before: readonly Value[], after: readonly Value[]): Value {
  const kind = [...before, ...after].findLast((item) => item instanceof Map);
  const texts = (list: readonly Value[]) => list.filter((item) => typeof item === "string");
  const names = [...texts(before), ...texts(after).filter((name) => !texts(before).includes(name))];
  return kind === undefined ? names : [kind, ...names];
}

/** Salt's sentences for top files of a wrong form. */
export function topFaults(top: Top): string[] {
  const errors: string[] = [];
  for (const [environment, targets] of top) {
    if (environment === "") errors.push("Empty saltenv statement in top file");
    for (const [target, states] of targets) {
      if (!Array.isArray(states)) {
        errors.push(
          `Malformed topfile: state declarations for matcher ${reprOf(target)} in saltenv ${reprOf(environment)} ` +
            `are not formed as a list (got ${typeName(states)})`,
        );
        continue;
      }
      for (const item of states) {
        if (item === "") errors.push(`Environment ${environment} contains an empty sls index`);
        for (const value of item instanceof Map ? item.values() : [])
          if (!isTrue(value))
            errors.push(`Improperly formatted top file matcher in saltenv ${shown(item)}: ${shown(value)} file`);
      }
    }
  }
  return errors;
}

/** The SLS names of this minion by environment. An entry `{environment: name}` adds a file of another environment. */
export async function matchTop(
  top: Top,
  source: SlsSource,
  only: string | undefined,
  isMeant: TargetMatch,
): Promise<Map<string, string[]>> {
  const matches = new Map<string, string[]>();
  const known = new Set(["base", ...(await source.environments())]);
  for (const [environment, targets] of top) {
    if (only !== undefined && environment !== only) continue;
    for (const [target, states] of targets)
      addMatch(matches, environment, strOf(target), typeof states === "string" ? [states] : argumentsOf(states), {
        known,
        isMeant,
      });
  }
  return matches;
}

function addMatch(
  matches: Map<string, string[]>,
  environment: string,
  target: string,
  states: readonly Value[],
  by: { readonly known: ReadonlySet<string>; readonly isMeant: TargetMatch },
): void {
  const kinds = states.flatMap((item) => (item instanceof Map && item.has("match") ? [item.get("match")] : []));
  if (!by.isMeant(strOf(kinds.at(-1) ?? "compound"), target)) return;
  const add = (name: string, sls: string) => matches.set(name, [...(matches.get(name) ?? []), sls]);
  if (!matches.has(environment)) matches.set(environment, []);
  for (const item of states) {
    if (typeof item === "string") add(environment, item);
    if (!(item instanceof Map)) continue;
    const filter = item.get("subfilter");
    for (const [inner, more] of filter instanceof Map ? filter : [])
      addMatch(matches, environment, strOf(inner), argumentsOf(more), by);
    const [other, sls = null] = [...item].filter(([key]) => key !== "subfilter").at(-1) ?? [];
    if (other !== undefined && by.known.has(strOf(other))) add(strOf(other), strOf(sls));
  }
}
