/** Renders SLS files with their includes and joins them to high data. */
import { hasCode } from "../../errors.ts";
import { stateFilesMax } from "../../limits.ts";
import { compileGlob } from "../../python/fnmatch.ts";
import { strOf } from "../../python/repr.ts";
import { isEqual, isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { Compiled, HighData, SlsSource, SlsText } from "./contract.ts";
import { addOrders, padDeclarations, takeExclude, takeExtend } from "./declarations.ts";
import { isOwnKey, listAt, shown } from "./read.ts";

/** Names of SLS files by environment, as a top file or a command gives them. */
export type Matches = ReadonlyMap<string, readonly string[]>;
type Rendered = { readonly state: ValueMap | undefined; readonly list?: Value; readonly errors: string[] };
type Place = { readonly sls: string; readonly environment: string; readonly isInit: boolean };

const firstOrder = 10_000;

/** Compiles one run's high data. */
export class HighDataCompiler {
  readonly #source: SlsSource;
  readonly #addsOrders: boolean;
  readonly #available = new Map<string, readonly string[]>();
  readonly #done = new Set<string>();
  readonly #processed = new Set<string>();
  #environments: readonly string[] | undefined;
  #nextOrder = firstOrder;

  constructor(source: SlsSource, addsOrders: boolean) {
    this.#source = source;
    this.#addsOrders = addsOrders;
  }

  /** Names of the files that were rendered, also of those without states. */
  get processed(): ReadonlySet<string> {
    return this.#processed;
  }

  async compile(matches: Matches): Promise<Compiled<HighData>> {
    const high: HighData = new Map();
    const errors: string[] = [];
    let files: readonly string[] = [];
    for (const [environment, patterns] of matches) {
      for (const pattern of patterns) {
        if (await this.#isEnvironment(environment)) files = await this.#matching(environment, pattern);
        else errors.push(`No matching salt environment for environment '${environment}' found`);
        if (files.length === 0) files = [pattern];
        for (const sls of files) {
          if (this.#done.has(`${environment}:${sls}`)) continue;
          const rendered = await this.#render(sls, environment, matches);
          this.#join(high, rendered);
          errors.push(...rendered.errors.map((error) => withMissing(error, pattern, environment)));
        }
      }
    }
    dropDoubleExtends(high);
    return { value: high, errors };
  }

  async #isEnvironment(environment: string): Promise<boolean> {
    if (environment === "base") return true;
    this.#environments ??= await this.#source.environments();
    return this.#environments.includes(environment);
  }

  async #matching(environment: string, pattern: string): Promise<readonly string[]> {
    let names = this.#available.get(environment);
    if (names === undefined) {
      names = await this.#source.names(environment);
      this.#available.set(environment, names);
    }
    const glob = compileGlob(pattern);
    return names.filter((name) => glob.matches(name));
  }

  async #read(sls: string, environment: string): Promise<{ file: SlsText; isInit: boolean } | undefined> {
    const base = sls.replaceAll(".", "/");
    const file = await this.#source.read(`${base}.sls`, environment);
    if (file !== undefined) return { file, isInit: false };
    const init = await this.#source.read(`${base}/init.sls`, environment);
    return init && { file: init, isInit: true };
  }

  async #render(sls: string, environment: string, matches: Matches): Promise<Rendered> {
    const errors: string[] = [];
    if (this.#processed.size > stateFilesMax)
      return { state: undefined, errors: [`More than ${stateFilesMax} SLS files in one state run`] };
    const found = await this.#read(sls, environment);
    let value: Value = null;
    if (found === undefined)
      errors.push(
        `Specified SLS ${sls} in saltenv ${environment} is not available on the salt master or through a configured fileserver`,
      );
    else {
      value = await this.#valueOf(found.file, sls, environment, errors);
      this.#done.add(`${environment}:${sls}`);
      this.#processed.add(sls);
    }
    if (!isTrue(value)) return { state: undefined, errors };
    if (!(value instanceof Map)) {
      errors.push(`SLS ${sls} does not render to a dictionary`);
      return { state: undefined, list: value, errors };
    }
    await this.#withIncludes(value, { sls, environment, isInit: found?.isInit === true }, matches, errors);
    if (this.#addsOrders) this.#nextOrder = addOrders(value, this.#nextOrder);
    return { state: value, errors };
  }

  async #valueOf(file: SlsText, sls: string, environment: string, errors: string[]): Promise<Value> {
    try {
      return await this.#source.render(file, sls, environment);
    } catch (error) {
      if (!hasCode(error, "PILLAR_FAILED")) throw error;
      errors.push(`Rendering SLS '${environment}:${sls}' failed: ${(error as Error).message}`);
      return null;
    }
  }

  async #withIncludes(state: ValueMap, place: Place, matches: Matches, errors: string[]): Promise<void> {
    const { sls, environment } = place;
    const included = state.get("include");
    if (state.has("include") && !Array.isArray(included))
      errors.push(`Include Declaration in SLS ${sls} is not formed as a list`);
    if (Array.isArray(included)) state.delete("include");
    takeExtend(state, sls, environment, errors);
    takeExclude(state, sls, errors);
    padDeclarations(state, sls, environment, errors);
    for (const entry of Array.isArray(included) ? included : [])
      await this.#include(state, entry, place, matches, errors);
  }

  async #include(state: ValueMap, entry: Value, place: Place, matches: Matches, errors: string[]): Promise<void> {
    const [written, named] = entry instanceof Map ? ([...entry].at(-1) ?? ["", ""]) : [place.environment, entry];
    const environment = strOf(written);
    const name = strOf(named);
    if (!(await this.#isEnvironment(environment))) {
      errors.push(
        `Nonexistent saltenv '${environment}' found in include of '${name}' within SLS '${place.environment}:${place.sls}'`,
      );
      return;
    }
    const sls = name.startsWith(".") ? absolute(name, place, errors) : name;
    if (sls === undefined) return;
    if (!matches.has(environment) && (await this.#matching(environment, sls)).length === 0) {
      errors.push(
        `Unknown include: Specified SLS ${environment}: ${sls} is not available on the salt master in saltenv(s): ${environment} `,
      );
      return;
    }
    const targets = await this.#matching(place.environment, sls);
    for (const target of targets.length > 0 ? targets : [sls]) {
      if (this.#done.has(`${environment}:${target}`)) continue;
      const inner = await this.#render(target, environment, matches);
      for (const [id, body] of inner.state ?? [])
        if (!isOwnKey(id) && body instanceof Map) listAt(body, "__sls_included_from__").push(place.sls);
      this.#join(state, inner);
      errors.push(...inner.errors);
    }
  }

  /** Adds the states of another file. The same id with another body is an error. */
  #join(high: HighData, { state, list, errors }: Rendered): void {
    if (list !== undefined) errors.push(`Error when rendering state with contents: ${shown(list)}`);
    if (state === undefined) return;
    for (const key of ["__extend__", "__exclude__"]) {
      const own = state.get(key);
      if (Array.isArray(own)) listAt(high, key).push(...own);
      state.delete(key);
    }
    for (const [id, body] of state) {
      const known = high.get(id);
      if (known !== undefined && !isEqual(known, body)) errors.push(conflict(strOf(id), known, body));
    }
    for (const [id, body] of state) high.set(id, body);
  }
}

/** The name that a relative include means: one dot is the directory of the file, each further dot the one above. */
function absolute(name: string, place: Place, errors: string[]): string | undefined {
  const [, dots = "", rest = ""] = /^(\.+)(.*)$/s.exec(name) ?? [];
  const parts = place.sls.split(".");
  if (place.isInit) parts.push("init");
  if (dots.length <= parts.length) return [...parts.slice(0, -dots.length), rest].join(".");
  errors.push(
    `Attempted relative include of '${name}' within SLS '${place.environment}:${place.sls}' goes beyond top level package `,
  );
  return undefined;
}

function conflict(id: string, known: Value, body: Value): string {
  const origin = (of: Value) => {
    const member = (key: string) => strOf((of instanceof Map ? of.get(key) : undefined) ?? null);
    return `'${member("__env__")}:${member("__sls__")}'`;
  };
  return (
    "Detected conflicting IDs, SLS IDs need to be globally unique.\n" +
    `    The conflicting ID is '${id}' and is found in SLS ${origin(known)} and SLS ${origin(body)}`
  );
}

function withMissing(error: string, pattern: string, environment: string): string {
  const isMeant = error.includes("is not available") && error.includes(`SLS ${pattern} in saltenv`);
  return isMeant ? `No matching sls found for '${pattern}' in env '${environment}'` : error;
}

function dropDoubleExtends(high: HighData): void {
  const extensions = high.get("__extend__");
  if (!Array.isArray(extensions)) return;
  const kept: [Value, Value][] = [];
  for (const extension of extensions)
    for (const [id, body] of extension instanceof Map ? extension : [])
      if (!kept.some(([known, other]) => known === id && isEqual(other, body))) kept.push([id, body]);
  high.set(
    "__extend__",
    kept.map(([id, body]): Value => new Map([[id, body]])),
  );
}
