/**
 * Renders one pillar file to a value through a pipe of renderers. Its first line or the option `renderer` names the pipe, by default Jinja and YAML.
 * Source: Salt's `compile_template`, observed. Supports the renderers jinja, yaml, yamlex, json and gpg.
 */

import { basename, dirname, posix } from "node:path";
import { hasCode, SaltworksError } from "../errors.ts";
import { pillarFilesMax } from "../limits.ts";
import type { Dict, Item } from "../python/values.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import type { TemplateNames, TemplatePipe, TreePlace } from "./external/contract.ts";
import { type Decryption, decryptIn } from "./gpg/decrypt.ts";
import { GpgMessages } from "./gpg/messages.ts";
import { isInside, type PillarFile, type PillarFiles } from "./input/files.ts";
import type { Minion } from "./input/minion.ts";
import type { PillarSettings } from "./input/settings.ts";
import { loadYaml } from "./input/yaml.ts";
import { loadYamlex } from "./input/yamlex.ts";
import { type ParsedTemplate, renderTemplate, type TemplateEnvironment } from "./jinja/run/template.ts";
import type { LexerOptions } from "./jinja/syntax/lexer.ts";
import { parseTemplate } from "./jinja/syntax/parser.ts";
import { readJson } from "./jinja/values/json.ts";
import { asFault, dataOf, fault } from "./jinja/values/objects.ts";
import { type FunctionContext, saltFunctions } from "./salt-functions.ts";

/** A file's place: its path below the root, its name and its environment. */
export type SlsPlace = { readonly path: string; readonly sls: string; readonly environment: string };

/** What the templates of one pillar share. `opts` is made at first use. */
export type SlsContext = {
  readonly minion: Minion;
  readonly saltenv: string | undefined;
  readonly pillarenv: string | undefined;
  opts: ValueMap | undefined;
  /** Which messages the renderer `gpg` leaves alone, and where it logs. */
  readonly decryption: Omit<Decryption, "gpg">;
};

const oldNames: ReadonlyMap<string, string> = new Map([
  ["yaml_jinja", "jinja|yaml"],
  ["json_jinja", "jinja|json"],
  ["yamlex_jinja", "jinja|yamlex"],
]);
export const plainJinja: LexerOptions = { trimBlocks: false, lstripBlocks: false };
const stateRenderers = ["jinja", "yaml", "yamlex", "json"];
const renderers = [...stateRenderers, "gpg"];

/** The renderers that a file's first line names, else those of `byDefault`. */
export function stagesOf(text: string, byDefault: string): readonly string[] {
  const [first = ""] = text.split("\n", 1);
  const written = first.startsWith("#!") && !first.startsWith("#!/") ? first.slice(2).trim() : byDefault;
  if (written === "") return [];
  return (oldNames.get(written) ?? written).split("|").map((stage) => stage.trim());
}

function environmentsOf({ saltenv, pillarenv }: SlsContext): Pick<SlsContext, "saltenv" | "pillarenv"> {
  return { saltenv, pillarenv };
}

export function isPillarRenderer(name: string): boolean {
  return renderers.includes(name);
}

export function isStateRenderer(name: string): boolean {
  return stateRenderers.includes(name);
}

/** The renderers of a state file's pipe: those of pillars without `gpg`. @throws SaltworksError PILLAR_FAILED */
export function statePipeOf(file: PillarFile, byDefault: string): readonly string[] {
  return pipeOf(file, byDefault, stateRenderers);
}

/** Returns the renderers of a file's pipe. @throws SaltworksError PILLAR_FAILED for an unsupported renderer */
function pipeOf({ path, text }: PillarFile, byDefault: string, known = renderers): readonly string[] {
  const stages = stagesOf(text, byDefault);
  const refused = stages.find((stage) => !known.includes(stage));
  if (refused !== undefined) {
    const error = new SaltworksError("PILLAR_FAILED", `the renderer '${refused}' is not supported`, { line: 1 });
    throw Object.assign(error, { file: path });
  }
  return stages;
}

/** Runs one renderer. Adds the file to an error without one, and whether its line refers to the output of an earlier renderer. */
export function inStage<T>({ file, text }: { readonly file: PillarFile; readonly text: Item }, run: () => T): T {
  try {
    return run();
  } catch (raised) {
    const error = asFault(raised);
    if (hasCode(error, "PILLAR_FAILED") && !("file" in (error as object)))
      Object.assign(error as object, { file: file.path, isOfResult: text !== file.text });
    throw error;
  }
}

/** Jinja variables derived from a template's path. */
export function placeNames(path: string): [string, Item][] {
  const directory = path.includes("/") ? dirname(path) : "";
  return [
    ["tplfile", path],
    ["tpldir", directory === "" ? "." : directory],
    ["tpldot", directory.replaceAll("/", ".")],
  ];
}

export function slsNames(sls: string, path: string): [string, Item][] {
  const directory = path.includes("/") ? dirname(path) : "";
  return [
    ["sls", sls],
    ["slspath", directory],
    ["slsdotpath", directory.replaceAll("/", ".")],
    ["slscolonpath", directory.replaceAll("/", ":")],
    ["sls_path", directory.replaceAll("/", "_")],
    ...placeNames(path),
  ];
}

export class SlsRenderer {
  readonly #settings: PillarSettings;
  readonly #files: PillarFiles;
  readonly #gpg: GpgMessages;
  /** Parsed templates by options and path. A file whose text has changed is parsed again. */
  readonly #parsed = new Map<string, { readonly text: string; readonly template: ParsedTemplate }>();

  constructor(settings: PillarSettings, files: PillarFiles) {
    this.#settings = settings;
    this.#files = files;
    this.#gpg = new GpgMessages(settings.gpg);
  }

  /**
   * Renders a file. `path` is relative to the root. An empty text gives an empty map.
   *
   * @throws SaltworksError PILLAR_FAILED with `file`, and with `line` where it is known
   */
  render(context: SlsContext, file: PillarFile, place: SlsPlace, defaults: ReadonlyMap<Value, Value>): Value {
    if (file.text.trim() === "") return new Map();
    const value = this.#isForPython(stagesOf(file.text, this.#settings.renderer))
      ? this.#inPython(context, file, place, defaults)
      : this.#through(pipeOf(file, this.#settings.renderer), context, file, place, defaults);
    return value === null || value === "" || value === false || value === 0 || isEmptyList(value) ? new Map() : value;
  }

  /** Renders an external source's text. Leaves out renderers that the source forbids. As in Salt, an empty pipe gives an empty map. */
  renderText(context: SlsContext, file: PillarFile, pipe: TemplatePipe): Value {
    const { blacklist, whitelist } = pipe;
    if (file.text.trim() !== "" && this.#isForPython(stagesOf(file.text, pipe.byDefault)))
      return this.#inPython(
        context,
        file,
        { path: basename(file.path), sls: "", environment: "base" },
        new Map(),
        pipe,
      );
    const stages = pipeOf(file, pipe.byDefault).filter(
      (stage) => !blacklist.includes(stage) && (whitelist.length === 0 || whitelist.includes(stage)),
    );
    if (file.text.trim() === "" || stages.length === 0) return new Map();
    const place = { path: basename(file.path), sls: "", environment: "base" };
    return this.#through(stages, context, file, place, new Map());
  }

  /** @throws SaltworksError PILLAR_FAILED, also for a file that is missing */
  renderTree(context: SlsContext, { root, path, globals }: TreePlace, names: TemplateNames): string {
    const load = (name: string) => {
      const inside = posix.normalize(name);
      const file = isInside(inside) ? this.#files.read([root], inside) : undefined;
      return file && this.#parse(file.path, inside, file.text, plainJinja);
    };
    const template = load(path);
    if (template === undefined) throw fault("python", path);
    const { minion } = context;
    const opts = (): Dict => this.#opts(context);
    const environment = {
      globals: [
        ["__opts__", opts()],
        ["__salt__", this.#saltFunctions(context, opts)],
        ["__grains__", minion.grains],
        ...globals,
      ] as const,
      globalsOf: () => [],
      loadYaml: (text: string) => loadYaml(text),
      load,
      isLenient: true,
    };
    return renderTemplate(environment, template, names);
  }

  decryptionIn(context: SlsContext): Decryption {
    return { ...context.decryption, gpg: this.#gpg };
  }

  #isForPython(stages: readonly string[]): boolean {
    return this.#settings.python !== undefined && !stages.every(isPillarRenderer);
  }

  /** A file whose pipe has a renderer that this program does not have goes through Salt's own as a whole. */
  #inPython(
    context: SlsContext,
    file: PillarFile,
    place: SlsPlace,
    names: ReadonlyMap<Value, Value>,
    pipe?: TemplatePipe,
  ): Value {
    const { python, renderer } = this.#settings;
    const { minion } = context;
    const asked = {
      ...{ path: file.path, environment: place.environment, sls: place.sls, names, pillar: minion.pillar },
      ...{ default: pipe?.byDefault ?? renderer, isPillar: place.sls !== "" },
      ...(pipe && { text: file.text, blacklist: pipe.blacklist, whitelist: pipe.whitelist }),
    };
    return inStage(
      { file, text: file.text },
      () => python?.render(asked, { ...minion, ...environmentsOf(context) }) ?? null,
    );
  }

  /** Calls a function of the site's own Salt for a template. */
  #functionsInPython(context: SlsContext): FunctionContext["inPython"] {
    const { python } = this.#settings;
    const { minion } = context;
    return python && ((fun, args, kwargs) => python.call(fun, args, kwargs, { ...minion, ...environmentsOf(context) }));
  }

  #through(
    stages: readonly string[],
    context: SlsContext,
    file: PillarFile,
    place: SlsPlace,
    defaults: ReadonlyMap<Value, Value>,
  ): Value {
    let data: Item = file.text;
    for (const stage of stages) {
      const text: Item = data;
      data = inStage({ file, text }, () => {
        if (stage === "gpg") return decryptIn(text as Value, this.decryptionIn(context));
        if (typeof text !== "string")
          throw new SaltworksError("PILLAR_FAILED", `the renderer '${stage}' stands behind one that gives no text`);
        if (stage === "jinja") return this.#jinja(context, file, text, place, defaults);
        if (stage === "yamlex") return loadYamlex(text);
        return stage === "json" ? readJson(stripShebang(text)) : loadYaml(text);
      });
    }
    // A copy would lose the marks of YAMLEX, which merges need.
    return stages.includes("yamlex") ? (data as Value) : dataOf(data);
  }

  #jinja(
    context: SlsContext,
    file: PillarFile,
    text: string,
    place: SlsPlace,
    defaults: ReadonlyMap<Value, Value>,
  ): string {
    const { jinjaOfSls, jinjaOfOthers } = this.#settings;
    const options = place.sls === "" ? jinjaOfOthers : jinjaOfSls;
    const template = this.#parse(file.path, place.path, text, options);
    const names: [string, Item][] = [...slsNames(place.sls, place.path), ["tplpath", file.path]];
    for (const [name, value] of defaults) if (typeof name === "string") names.push([name, value]);
    if (isPlain(template, text)) return text;
    const rendered = renderTemplate(this.#environment(context, place.environment, names, options), template, names);
    // Jinja drops the last line break; Salt adds it again.
    return text.endsWith("\n") ? `${rendered}\n` : rendered;
  }

  #environment(
    context: SlsContext,
    environment: string,
    names: readonly [string, Item][],
    options: LexerOptions,
  ): TemplateEnvironment {
    const opts = (): Dict => this.#opts(context);
    const { minion } = context;
    const salt = this.#saltFunctions(context, opts);
    return {
      globals: [
        ["grains", minion.grains],
        ["opts", opts()],
        ["pillar", minion.pillar ?? new Map()],
        ["salt", salt],
        ["saltenv", environment],
        ...names,
      ],
      globalsOf: placeNames,
      loadYaml: (text) => loadYaml(text),
      load: (name, from) => this.#load(environment, name, from, options),
    };
  }

  #saltFunctions(context: SlsContext, opts: () => Dict): ReturnType<typeof saltFunctions> {
    const [settings, files, { minion }] = [this.#settings, this.#files, context];
    return saltFunctions({ minion, settings, files, opts, inPython: this.#functionsInPython(context) });
  }

  #opts(context: SlsContext): ValueMap {
    if (context.opts === undefined) {
      const { minion, saltenv, pillarenv } = context;
      context.opts = this.#settings.opts();
      for (const [name, value] of [
        ["file_client", "local"],
        ["id", minion.id],
        ["minion_id", minion.id],
        ["grains", minion.grains],
        ["saltenv", saltenv ?? context.opts.get("saltenv") ?? null],
        ["pillarenv", pillarenv ?? null],
      ] as const)
        context.opts.set(name, value);
    }
    return context.opts;
  }

  /** Loads a template of the environment with the loading template's options. `name`: relative to the root, with `./` or `../` to `from`. */
  #load(environment: string, name: string, from: string, options: LexerOptions): ParsedTemplate | undefined {
    const bare = name.replace(/^salt:\/\//, "");
    const isRelative = bare.startsWith("./") || bare.startsWith("../");
    const path = isRelative ? posix.normalize(posix.join(dirname(from), bare)) : bare;
    if (!isInside(path)) throw fault("python", `'${name}' lies outside the pillar roots`);
    const file = this.#files.read(this.#settings.roots.get(environment) ?? [], path);
    return file && this.#parse(file.path, path, file.text, options);
  }

  #parse(fullPath: string, path: string, text: string, byDefault: LexerOptions): ParsedTemplate {
    const place = `${Number(byDefault.trimBlocks)}${Number(byDefault.lstripBlocks)} ${fullPath}`;
    const kept = this.#parsed.get(place);
    if (kept !== undefined && kept.text === text) return kept.template;
    const template = parseSls(fullPath, path, text, byDefault);
    this.#parsed.set(place, { text, template });
    const [oldest] = this.#parsed.keys();
    if (this.#parsed.size > pillarFilesMax && oldest !== undefined) this.#parsed.delete(oldest);
    return template;
  }
}

/** Parses a template with the options of its own first line. @throws SaltworksError PILLAR_FAILED with `file` */
export function parseSls(fullPath: string, path: string, text: string, byDefault: LexerOptions): ParsedTemplate {
  const { source, options } = withHeader(text, byDefault);
  try {
    const body = parseTemplate(source.replace(/(?:\r\n|\r|\n)$/, ""), options);
    return { name: path, path: fullPath, body };
  } catch (error) {
    if (error instanceof SaltworksError && !("file" in error)) Object.assign(error, { file: fullPath });
    throw error;
  }
}

/** Whether rendering changes nothing: the file has only text, without comments. */
export function isPlain({ body }: ParsedTemplate, text: string): boolean {
  return body.length <= 1 && (body[0]?.kind ?? "text") === "text" && !text.includes("{#");
}

export function isEmptyList(value: Value): boolean {
  return Array.isArray(value) && value.length === 0;
}

export function stripShebang(text: string): string {
  return text.startsWith("#!") ? text.slice(text.indexOf("\n") + 1) : text;
}

/** Reads a first line `#jinja2: {...}`, which sets the white-space options of its own file. */
function withHeader(text: string, byDefault: LexerOptions): { source: string; options: LexerOptions } {
  const options = { ...byDefault };
  const lines = text.split("\n");
  const at = lines[0]?.startsWith("#!") === true && !lines[0].startsWith("#!/") ? 1 : 0;
  const header = lines[at];
  if (header?.startsWith("#jinja2:") !== true || header.slice("#jinja2:".length).trim() === "")
    return { source: text, options };
  const values = readJson(header.slice("#jinja2:".length));
  if (!(values instanceof Map)) return { source: text, options };
  for (const [name, value] of values) {
    const key = String(name).toLowerCase();
    if (key === "trim_blocks") options.trimBlocks = value === true;
    else if (key === "lstrip_blocks") options.lstripBlocks = value === true;
    else throw fault("template", `the option '${key}' of a #jinja2 line is not supported`);
  }
  lines.splice(at, 1);
  return { source: lines.join("\n"), options };
}
