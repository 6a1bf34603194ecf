/**
 * Renders texts outside pillars as Jinja templates: a minion's commands and scripts (`template=jinja`). Rendering is synchronous, but
 * `salt[...]` calls asynchronous functions. So a rendering stops at a call without an answer, the function runs, and rendering starts again
 * with the answers so far. Each rendering takes the same path, so that every function is called once, in order.
 */

import { hasCode, SaltworksError } from "../errors.ts";
import { templateCallsMax } from "../limits.ts";
import type { Item } from "../python/values.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import { faultText } from "./fault-text.ts";
import { loadYaml } from "./input/yaml.ts";
import { lineOf } from "./jinja/run/evaluate.ts";
import { type ParsedTemplate, renderTemplate, type TemplateEnvironment } from "./jinja/run/template.ts";
import { parseTemplate } from "./jinja/syntax/parser.ts";
import { asFault, type CallArguments, Callable, dataOf, fault, Members } from "./jinja/values/objects.ts";

type TextFunction = (args: readonly Value[], kwargs: ValueMap) => Promise<Value>;
/** The template's variables and the functions in `salt`. */
export type Surroundings = {
  readonly namesOf: () => ValueMap;
  readonly functionOf: (name: string) => TextFunction | undefined;
  /** Finds the template that another one includes or imports. Without it there are no others. */
  readonly load?: (name: string, from: string) => Promise<LoadedTemplate | undefined>;
  /** Variables of each template by its path. */
  readonly globalsOf?: TemplateEnvironment["globalsOf"];
};
export type LoadedTemplate = { readonly path: string; readonly place: string; readonly text: string };
type Parse = (loaded: LoadedTemplate) => ParsedTemplate;
type Answer =
  | { readonly value: Value }
  | { readonly failure: string }
  | { readonly template: ParsedTemplate | undefined };

/** Thrown to stop a rendering at a call without an answer. */
class Unanswered extends Error {
  readonly ask: () => Promise<Answer>;
  constructor(name: string, ask: () => Promise<Answer>) {
    super(`no answer yet of ${name}`);
    this.ask = ask;
  }
}

/**
 * Renders a text. Calls `namesOf` for each rendering, because a template may change its variables.
 *
 * @throws SaltworksError PILLAR_FAILED with Salt's text for the error
 */
export async function renderText(
  text: string,
  namesOf: Surroundings["namesOf"],
  functionOf: Surroundings["functionOf"],
): Promise<string> {
  try {
    const source = text.replace(/(?:\r\n|\r|\n)$/, "");
    const template = { name: "<command>", body: parseTemplate(source, { trimBlocks: false, lstripBlocks: false }) };
    const rendered = await answering(template, { namesOf, functionOf });
    return text.endsWith("\n") ? `${rendered}\n` : rendered;
  } catch (raised) {
    const error = asFault(raised);
    if (!hasCode(error, "PILLAR_FAILED")) throw error;
    const { message, detail } = error as SaltworksError;
    const line = lineOf(error as SaltworksError);
    throw new SaltworksError(
      "PILLAR_FAILED",
      faultText(new SaltworksError("PILLAR_FAILED", message, line === undefined ? detail : { ...detail, line })),
    );
  }
}

/** Renders a template again and again until all its calls have answers. `parse` parses the templates that it loads. */
export async function answering(
  template: ParsedTemplate,
  surroundings: Surroundings,
  parse?: Parse,
  names: readonly [string, Item][] = [],
): Promise<string> {
  const answers: Answer[] = [];
  for (;;) {
    try {
      return render(template, surroundings, answers, parse, names);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (answers.length >= templateCallsMax)
        throw fault("python", `more than ${templateCallsMax} calls of functions in one template`);
      answers.push(await error.ask());
    }
  }
}

async function answerOf(ask: () => Promise<Value>): Promise<Answer> {
  try {
    return { value: await ask() };
  } catch (error) {
    // The next rendering throws the function's failure at its call.
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

function render(
  template: ParsedTemplate,
  { namesOf, functionOf, load, globalsOf }: Surroundings,
  answers: readonly Answer[],
  parse: Parse | undefined,
  own: readonly [string, Item][],
): string {
  let asked = 0;
  const call = (name: string, run: TextFunction, { positional, named }: CallArguments): Item => {
    const kwargs: ValueMap = new Map(Array.from(named, ([key, value]): [Value, Value] => [key, dataOf(value)]));
    const answer = answers[asked];
    asked += 1;
    const args = positional.map(dataOf);
    if (answer === undefined) throw new Unanswered(name, () => answerOf(() => run(args, kwargs)));
    if ("failure" in answer)
      throw fault("python", `Problem running salt function in Jinja template: ${answer.failure}`);
    return "value" in answer ? copied(answer.value) : null;
  };
  const functionItem = (name: string) => {
    const run = functionOf(name);
    return run === undefined ? undefined : new Callable(name, (args) => call(name, run, args));
  };
  const salt = new Members("dict", (name) =>
    name.includes(".") ? functionItem(name) : new Members("module", (inner) => functionItem(`${name}.${inner}`)),
  );
  const loaded = (name: string, from: string) => {
    if (load === undefined || parse === undefined)
      throw fault("python", `the template ${name} cannot be loaded: commands include and import no others`);
    const answer = answers[asked];
    asked += 1;
    if (answer === undefined) throw new Unanswered(name, async () => await templateOf(await load(name, from), parse));
    return "template" in answer ? answer.template : undefined;
  };
  const names = Array.from(namesOf(), ([name, value]): [string, Item] => [String(name), value]);
  return renderTemplate(
    {
      globals: [...names, ["salt", salt]],
      globalsOf: globalsOf ?? (() => []),
      loadYaml,
      load: loaded,
    },
    template,
    own,
  );
}

async function templateOf(loaded: LoadedTemplate | undefined, parse: Parse): Promise<Answer> {
  return { template: loaded && parse(loaded) };
}

/** Copies lists and maps, because a template may change a function's result. */
function copied(value: Value): Value {
  if (Array.isArray(value)) return value.map(copied);
  return value instanceof Map ? new Map(Array.from(value, ([key, inner]) => [copied(key), copied(inner)])) : value;
}
