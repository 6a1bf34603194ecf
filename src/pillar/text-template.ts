/**
 * Renders texts outside pillars as Jinja templates: a minion's commands and scripts (`template=jinja`). Rendering is synchronous, but
 * `salt[...]` calls asynchronous functions. So a rendering stops at a call without an answer, the function runs, and rendering starts again
 * with the answers so far. Each rendering takes the same path, so that every function is called once, in order.
 */

import { hasCode, SaltworksError } from "../errors.ts";
import { templateCallsMax } from "../limits.ts";
import type { Item } from "../python/values.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import { faultText } from "./compile.ts";
import { loadYaml } from "./input/yaml.ts";
import { lineOf } from "./jinja/run/evaluate.ts";
import { type ParsedTemplate, renderTemplate } from "./jinja/run/template.ts";
import { parseTemplate } from "./jinja/syntax/parser.ts";
import { asFault, type CallArguments, Callable, dataOf, fault, Members } from "./jinja/values/objects.ts";

type TextFunction = (args: readonly Value[], kwargs: ValueMap) => Promise<Value>;
/** The template's variables and the functions in `salt`. */
type Surroundings = {
  readonly namesOf: () => ValueMap;
  readonly functionOf: (name: string) => TextFunction | undefined;
};
type Answer = { readonly value: Value } | { readonly failure: string };

/** Thrown to stop a rendering at a call without an answer. */
class Unanswered extends Error {
  readonly ask: () => Promise<Value>;
  constructor(name: string, ask: () => Promise<Value>) {
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

async function answering(template: ParsedTemplate, surroundings: Surroundings): Promise<string> {
  const answers: Answer[] = [];
  for (;;) {
    try {
      return render(template, surroundings, answers);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (answers.length >= templateCallsMax)
        throw fault("python", `more than ${templateCallsMax} calls of functions in one template`);
      answers.push(await answerOf(error.ask));
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

function render(template: ParsedTemplate, { namesOf, functionOf }: Surroundings, answers: readonly Answer[]): string {
  let asked = 0;
  const call = (name: string, run: TextFunction, { positional, named }: CallArguments): Item => {
    const kwargs: ValueMap = new Map(Array.from(named, ([key, value]): [Value, Value] => [key, dataOf(value)]));
    const answer = answers[asked];
    asked += 1;
    const args = positional.map(dataOf);
    if (answer === undefined) throw new Unanswered(name, () => run(args, kwargs));
    if ("failure" in answer)
      throw fault("python", `Problem running salt function in Jinja template: ${answer.failure}`);
    return copied(answer.value);
  };
  const functionItem = (name: string) => {
    const run = functionOf(name);
    return run === undefined ? undefined : new Callable(name, (args) => call(name, run, args));
  };
  const salt = new Members("dict", (name) =>
    name.includes(".") ? functionItem(name) : new Members("module", (inner) => functionItem(`${name}.${inner}`)),
  );
  const names = Array.from(namesOf(), ([name, value]): [string, Item] => [String(name), value]);
  return renderTemplate(
    {
      globals: [...names, ["salt", salt]],
      globalsOf: () => [],
      loadYaml,
      load: (name) => {
        throw fault("python", `the template ${name} cannot be loaded: commands include and import no others`);
      },
    },
    template,
    [],
  );
}

/** Copies lists and maps, because a template may change a function's result. */
function copied(value: Value): Value {
  if (Array.isArray(value)) return value.map(copied);
  return value instanceof Map ? new Map(Array.from(value, ([key, inner]) => [copied(key), copied(inner)])) : value;
}
