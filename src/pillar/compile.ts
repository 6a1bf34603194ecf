/**
 * Compiles a minion's pillar: merges the SLS files that top files name, with their includes. Puts errors into `_errors`, as in Salt.
 * Source: Salt 3007's pillar compiler, observed; recorded in test/pillar/golden.
 */

import { SaltworksError } from "../errors.ts";
import { pillarSlsMax } from "../limits.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import type { SourceContext, SourceOutcomes, SourceRun } from "./external/contract.ts";
import { withSources } from "./external/merge-sources.ts";
import { faultText } from "./fault-text.ts";
import { decryptionExcept } from "./gpg/decrypt.ts";
import { decryptPillar } from "./gpg/decrypt-pillar.ts";
import { readInclude, underKey } from "./include.ts";
import { PillarFiles } from "./input/files.ts";
import type { Minion } from "./input/minion.ts";
import { dynamicRoots } from "./input/roots.ts";
import { type PillarSettings, pillarenvOf } from "./input/settings.ts";
import { asFault } from "./jinja/values/objects.ts";
import { type SlsContext, SlsRenderer } from "./sls.ts";
import { type SlsFile, SlsNames } from "./sls-names.ts";
import { matchTop, mergeTops, shownTop } from "./top.ts";
import { type TreeRenderer, TreeRenderers } from "./tree-renderers.ts";

/** A minion's `_pillar` request. `override` (a command's `pillar='{...}'`) is merged over all other values. */
export type PillarRequest = {
  readonly minion: Minion;
  readonly saltenv: string | undefined;
  readonly pillarenv: string | undefined;
  readonly override: ValueMap;
  /** For external sources: the minion's data, the sources that it asks for (`pillar.ext`), and the outcomes of commands. */
  readonly extraData?: ValueMap | undefined;
  readonly onDemand?: Value | undefined;
  readonly outcomes?: SourceOutcomes | undefined;
};
/** `faults`: errors for the master's log, with file and line and without pillar values. `sources`: the external sources that were read. */
export type CompiledPillar = {
  readonly pillar: ValueMap;
  readonly faults: readonly string[];
  readonly sources: readonly SourceRun[];
};

/** Compiles pillars. Caches files and parsed templates between them. */
export class PillarCompiler {
  readonly #settings: PillarSettings;
  readonly #files: PillarFiles;
  readonly #renderer: SlsRenderer;
  readonly #trees: TreeRenderers;

  constructor(settings: PillarSettings, files: PillarFiles = new PillarFiles()) {
    this.#settings = settings;
    this.#files = files;
    this.#renderer = new SlsRenderer(settings, files);
    this.#trees = new TreeRenderers(settings, files);
  }

  compile(request: PillarRequest): CompiledPillar {
    return new Compilation(this.#files, this.#own, this.#trees, request).run();
  }

  /** Merges the top files of all environments without matching targets, for `pillar.show_top`. */
  top(request: PillarRequest): CompiledPillar {
    return new Compilation(this.#files, this.#own, this.#trees, request).top();
  }

  get #own(): TreeRenderer {
    return { settings: this.#settings, renderer: this.#renderer };
  }
}

class Compilation {
  readonly #settings: PillarSettings;
  readonly #files: PillarFiles;
  readonly #renderer: SlsRenderer;
  readonly #request: PillarRequest;
  readonly #trees: TreeRenderers;
  readonly #names: SlsNames;
  #context: SlsContext;
  readonly #roots: ReadonlyMap<string, readonly string[]>;
  readonly #pillarenv: string | undefined;
  readonly #errors: string[] = [];
  readonly #faults: string[] = [];
  readonly #sources: SourceRun[] = [];
  readonly #ignored = new Map<string, Set<string>>();
  #slsCount = 0;

  constructor(files: PillarFiles, own: TreeRenderer, trees: TreeRenderers, request: PillarRequest) {
    const { saltenv, minion } = request;
    const { settings, renderer } = own;
    this.#trees = trees;
    this.#settings = settings;
    this.#files = files;
    this.#renderer = renderer;
    this.#request = request;
    this.#pillarenv = pillarenvOf(settings, request);
    const { extraData = new Map() } = request;
    const decryption = decryptionExcept([minion.grains, request.override, extraData], (fault) =>
      this.#faults.push(fault),
    );
    this.#context = { minion, saltenv, pillarenv: this.#pillarenv, opts: undefined, decryption };
    this.#roots = dynamicRoots(settings.roots, this.#pillarenv ?? saltenv ?? "base");
    this.#names = new SlsNames(files, this.#roots);
  }

  run(): CompiledPillar {
    const { addsOptions, errors } = this.#settings;
    // The master has logged these errors at its start, so they are not in `faults`.
    this.#errors.push(...errors);
    const topErrors: string[] = [];
    let pillar = this.#settings.sourcesFirst
      ? this.#aboveSources(topErrors)
      : this.#withSources(this.#render(this.#matches(topErrors)));
    this.#errors.push(...topErrors);
    if (addsOptions) pillar.set("master", this.#settings.opts().set("id", this.#request.minion.id));
    if (this.#errors.length > 0) pillar.set("_errors", this.#errors);
    if (this.#request.override.size > 0) pillar = this.#merge(pillar, this.#request.override);
    this.#faults.push(
      ...decryptPillar(pillar, this.#settings.decryptPillar, this.#renderer.decryptionIn(this.#context)),
    );
    return { pillar, faults: this.#faults, sources: this.#sources };
  }

  top(): CompiledPillar {
    const fail = (message: string) => this.#fail(message);
    const top = mergeTops(this.#readTops(fail), this.#ignored);
    return { pillar: shownTop(top), faults: this.#faults, sources: [] };
  }

  /** Merges files over the values of external sources. The files' templates see those values as `pillar`. */
  #aboveSources(topErrors: string[]): ValueMap {
    const pillar = this.#withSources(this.#request.override);
    this.#context = { ...this.#context, minion: { ...this.#context.minion, pillar } };
    return this.#merge(pillar, this.#render(this.#matches(topErrors)));
  }

  #withSources(pillar: ValueMap): ValueMap {
    const { minion, saltenv, override, extraData = new Map(), onDemand, outcomes = {} } = this.#request;
    const settings = this.#settings;
    const render: SourceContext["render"] = (path, text, pipe) =>
      this.#renderer.renderText(this.#context, { path, text }, pipe);
    const renderTree: SourceContext["renderTree"] = (...of) => this.#renderer.renderTree(this.#context, ...of);
    const compile: SourceContext["compile"] = (...of) => this.#compileTrees(...of);
    const [pillarenv, roots] = [this.#pillarenv, this.#roots];
    return withSources(override.size > 0 ? this.#merge(pillar, override) : pillar, {
      settings,
      onDemand,
      outcomes,
      contextOf: (note) => ({
        minion,
        settings,
        pillarenv,
        saltenv,
        roots,
        extraData,
        render,
        renderTree,
        compile,
        note,
      }),
      fail: (message) => this.#fail(message),
      note: (fault) => this.#faults.push(fault),
      ran: (run) => this.#sources.push(run),
    });
  }

  #compileTrees(environment: string, directories: readonly string[]): ValueMap {
    const { minion } = this.#request;
    const own = this.#trees.of(environment, directories);
    const request = { minion, saltenv: environment, pillarenv: this.#pillarenv, override: new Map() };
    const { pillar, faults } = new Compilation(this.#files, own, this.#trees, request).run();
    this.#faults.push(...faults);
    return pillar;
  }

  #merge(below: ValueMap, above: ValueMap): ValueMap {
    return this.#settings.merge(below, above);
  }

  #fail(message: string, detail = message): void {
    this.#errors.push(message);
    this.#faults.push(detail);
  }

  // Top files

  #topEnvironments(): readonly string[] {
    if (this.#pillarenv === undefined) {
      const names = [...this.#roots.keys()];
      const only = this.#request.saltenv || "base";
      return this.#settings.isOneEnvironment ? names.filter((name) => name === only) : names;
    }
    return this.#roots.has(this.#pillarenv) ? [this.#pillarenv] : [];
  }

  #matches(errors: string[]): ReadonlyMap<string, readonly string[]> {
    const fail = (message: string, detail = message) => {
      errors.push(message);
      this.#faults.push(detail);
    };
    const tops = this.#readTops(fail);
    try {
      const top = mergeTops(tops, this.#ignored);
      return matchTop(top, this.#context.minion, this.#settings, this.#pillarenv, fail);
    } catch (error) {
      const sentence = "Error encountered while rendering pillar top file.";
      fail(sentence, `${sentence} ${faultText(renderError(error))}; file ${this.#settings.topFile}`);
      return new Map();
    }
  }

  #readTops(fail: (message: string) => void): readonly Value[] {
    const tops: Value[] = [];
    try {
      for (const environment of this.#topEnvironments()) this.#readTop(environment, tops, fail);
    } catch (error) {
      fail(`Rendering Primary Top file failed, render error:\n${faultText(renderError(error))}`);
    }
    return tops;
  }

  /** Reads a top file and the files that its `include` names. */
  #readTop(environment: string, tops: Value[], fail: (message: string) => void): void {
    const path = this.#settings.topFile;
    const file = this.#files.read(this.#roots.get(environment) ?? [], path);
    if (file === undefined) return;
    const top = this.#renderer.render(this.#context, file, { path, sls: "", environment }, new Map());
    tops.push(top);
    const included = top instanceof Map ? top.get("include") : undefined;
    if (!Array.isArray(included)) return;
    for (const sls of new Set(included.map(String))) {
      const found = this.#names.find(environment, sls);
      try {
        if (found === undefined) continue;
        tops.push(
          this.#renderer.render(this.#context, found.file, { path: found.path, sls: "", environment }, new Map()),
        );
      } catch (error) {
        fail(`Rendering Top file ${sls} failed, render error:\n${faultText(renderError(error))}`);
      }
    }
  }

  // SLS files

  #render(matches: ReadonlyMap<string, readonly string[]>): ValueMap {
    let pillar: ValueMap = new Map(this.#request.override);
    const order = this.#settings.environmentOrder.filter((name) => matches.has(name));
    const environments = [...order, ...[...matches.keys()].filter((name) => !order.includes(name))];
    for (const environment of environments) {
      const done = new Map<string, Value>();
      if (!this.#roots.has(environment)) this.#noteUnknown(environment, matches.get(environment) ?? []);
      const files = (matches.get(environment) ?? []).flatMap((name) => {
        const expanded = this.#names.expand(environment, name);
        return expanded.length > 0 ? expanded : [name];
      });
      for (const sls of files) {
        const state = this.#sls({ sls, askedBy: this.#settings.topFile }, environment, done, new Map());
        if (state instanceof Map) pillar = this.#merge(pillar, state);
      }
    }
    return pillar;
  }

  #noteUnknown(environment: string, names: readonly string[]): void {
    for (const _name of names) this.#fail(`No matching pillar environment for environment '${environment}' found`);
  }

  #found(environment: string, sls: string): SlsFile | "unreadable" | undefined {
    try {
      return this.#names.find(environment, sls);
    } catch (error) {
      this.#failRendering(sls, renderError(error));
      return "unreadable";
    }
  }

  /** Compiles one SLS file with its includes. Returns undefined if it gives nothing to merge. `askedBy`: the file that names it. */
  #sls(
    { sls, askedBy }: { readonly sls: string; readonly askedBy: string },
    environment: string,
    done: Map<string, Value>,
    defaults: ReadonlyMap<Value, Value>,
  ): Value | undefined {
    this.#slsCount += 1;
    if (this.#slsCount > pillarSlsMax)
      throw new SaltworksError("PILLAR_FAILED", `more than ${pillarSlsMax} files in one pillar`);
    const found = this.#found(environment, sls);
    if (found === "unreadable") return undefined;
    if (found === undefined) {
      if (this.#ignored.get(environment)?.has(sls) === true) return undefined;
      if ((this.#roots.get(environment) ?? []).length === 0) return undefined;
      const sentence = `Specified SLS '${sls}' in environment '${environment}' is not available on the salt master`;
      this.#fail(sentence, `${sentence}; file ${askedBy}`);
      // As in Salt, a missing file is an error and gives an empty map.
      done.set(sls, new Map());
      return new Map();
    }
    const state = this.#renderFile(sls, environment, found, defaults);
    done.set(sls, state ?? null);
    if (state === undefined) return undefined;
    if (!(state instanceof Map)) {
      const sentence = `SLS '${sls}' does not render to a dictionary`;
      this.#fail(sentence, `${sentence}; file ${found.file.path}`);
      return undefined;
    }
    const included = state.get("include");
    if (included === undefined) return state;
    if (!Array.isArray(included)) {
      const sentence = `Include Declaration in SLS '${sls}' is not formed as a list`;
      this.#fail(sentence, `${sentence}; file ${found.file.path}`);
      return state;
    }
    state.delete("include");
    return this.#withIncludes({ sls, environment, done, found, defaults }, state, included);
  }

  #renderFile(
    sls: string,
    environment: string,
    found: SlsFile,
    defaults: ReadonlyMap<Value, Value>,
  ): Value | undefined {
    try {
      return this.#renderer.render(this.#context, found.file, { path: found.path, sls, environment }, defaults);
    } catch (error) {
      this.#failRendering(sls, renderError(error));
      return undefined;
    }
  }

  #failRendering(sls: string, error: SaltworksError): void {
    const full = `Rendering SLS '${sls}' failed, render error:\n${faultText(error)}`;
    const short = `Rendering SLS '${sls}' failed. Please see master log for details.`;
    this.#fail(this.#settings.hidesErrors ? short : full, full);
  }

  /** Merges the file over its includes, so that its own values win. `pillar_includes_override_sls` reverses the order. */
  #withIncludes(
    place: {
      readonly sls: string;
      readonly environment: string;
      readonly done: Map<string, Value>;
      readonly found: SlsFile;
      readonly defaults: ReadonlyMap<Value, Value>;
    },
    state: ValueMap,
    included: readonly Value[],
  ): ValueMap {
    const { done, environment, found } = place;
    const layers: ValueMap[] = [];
    // As in Salt, an include's defaults also apply to later includes without defaults.
    let { defaults } = place;
    let lastErrors: readonly string[] = [];
    for (const entry of included) {
      const { name, key, own } = readInclude(entry);
      defaults = own ?? defaults;
      for (const sls of this.#names.included({ ...place, isInit: found.isInit }, name)) {
        const present = done.get(sls);
        const errorCount = this.#errors.length;
        const inner =
          present === undefined ? this.#sls({ sls, askedBy: found.file.path }, environment, done, defaults) : present;
        // As in Salt, a file that was already rendered repeats the errors of the file rendered before it.
        if (present === undefined) lastErrors = this.#errors.slice(errorCount);
        else this.#errors.push(...lastErrors);
        if (!(inner instanceof Map) || inner.size === 0) continue;
        layers.push(key === undefined ? inner : underKey(key, inner));
      }
    }
    const ordered = this.#settings.includesOverride ? [state, ...layers] : [...layers, state];
    return ordered.reduce((below, above) => this.#merge(below, above));
  }
}

/** Returns an error that a pillar file can cause. Throws any other: it is a bug here. */
function renderError(raised: unknown): SaltworksError {
  const error = asFault(raised);
  if (error instanceof SaltworksError) return error;
  throw error;
}
