/**
 * Renders SLS files of states on a minion, through the pipe of renderers in their first line. `salt[...]` calls execution functions, and
 * templates load others from the file server; both are asynchronous, so that rendering starts again after each answer.
 */
import { dirname, posix } from "node:path";
import { hasCode, SaltworksError } from "../errors.ts";
import type { Item } from "../python/values.ts";
import type { Value } from "../wire/values.ts";
import { faultText } from "./fault-text.ts";
import { isInside } from "./input/files.ts";
import { loadYaml } from "./input/yaml.ts";
import { loadYamlex } from "./input/yamlex.ts";
import type { LexerOptions } from "./jinja/syntax/lexer.ts";
import { readJson } from "./jinja/values/json.ts";
import { asFault, dataOf, fault } from "./jinja/values/objects.ts";
import {
  inStage,
  isEmptyList,
  isPlain,
  isStateRenderer,
  parseSls,
  placeNames,
  slsNames,
  stagesOf,
  statePipeOf,
  stripShebang,
} from "./sls.ts";
import { answering, type LoadedTemplate, type Surroundings } from "./text-template.ts";

export type StateTemplate = LoadedTemplate & { readonly sls: string };
/** `load` gets paths below the environment's root. `renderer`: the pipe of files without one. */
export type StateSurroundings = Pick<Surroundings, "namesOf" | "functionOf"> & {
  readonly load: (path: string) => Promise<LoadedTemplate | undefined>;
  readonly renderer: string;
  readonly jinja: LexerOptions;
  /** Renders the whole file by the site's own Python, for a pipe with a renderer that is not built here. */
  readonly inPython?: () => Promise<Value>;
};

/** @throws SaltworksError PILLAR_FAILED with Salt's text for the fault, with line and file where they are known */
export async function renderState(file: StateTemplate, surroundings: StateSurroundings): Promise<Value> {
  try {
    return await throughPipe(file, surroundings);
  } catch (raised) {
    const error = asFault(raised);
    if (!hasCode(error, "PILLAR_FAILED")) throw error;
    throw new SaltworksError("PILLAR_FAILED", faultText(error as SaltworksError));
  }
}

async function throughPipe(file: StateTemplate, surroundings: StateSurroundings): Promise<Value> {
  if (file.text.trim() === "") return new Map();
  const source = { path: file.place, text: file.text };
  const { inPython } = surroundings;
  if (inPython !== undefined && !stagesOf(file.text, surroundings.renderer).every(isStateRenderer))
    return await inPython();
  let data: Item = file.text;
  for (const stage of statePipeOf(source, surroundings.renderer)) {
    const text: Item = data;
    if (typeof text !== "string")
      throw new SaltworksError("PILLAR_FAILED", `the renderer '${stage}' stands behind one that gives no text`);
    if (stage === "jinja") data = await jinja(file, text, surroundings);
    else
      data = inStage({ file: source, text }, () => {
        if (stage === "yamlex") return loadYamlex(text);
        return stage === "json" ? readJson(stripShebang(text)) : loadYaml(text);
      });
  }
  const value = dataOf(data);
  return value === null || value === "" || value === false || value === 0 || isEmptyList(value) ? new Map() : value;
}

async function jinja(file: StateTemplate, text: string, surroundings: StateSurroundings): Promise<string> {
  const { namesOf, functionOf, load, jinja: options } = surroundings;
  const template = parseSls(file.place, file.path, text, options);
  if (isPlain(template, text)) return text;
  const find = async (name: string, from: string) => {
    const bare = name.replace(/^salt:\/\//, "");
    const isRelative = bare.startsWith("./") || bare.startsWith("../");
    const path = isRelative ? posix.normalize(posix.join(dirname(from), bare)) : bare;
    if (!isInside(path)) throw fault("python", `'${name}' lies outside the file roots`);
    return await load(path);
  };
  const names: [string, Item][] = [...slsNames(file.sls, file.path), ["tplpath", file.place]];
  try {
    const rendered = await answering(
      template,
      { namesOf, functionOf, load: find, globalsOf: placeNames },
      (loaded) => parseSls(loaded.place, loaded.path, loaded.text, options),
      names,
    );
    return text.endsWith("\n") ? `${rendered}\n` : rendered;
  } catch (raised) {
    return inStage({ file: { path: file.place, text }, text }, () => {
      throw raised;
    });
  }
}
