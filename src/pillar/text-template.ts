/**
 * A text outside of pillars as a Jinja template: commands and scripts of a minion (`template=jinja`). There `salt[...]` calls real functions, which
 * take their time, while a rendering does not wait: it is given up at a call without an answer, and begun again with the answers so far.
 * A template takes the same way each time, so every function is called once, in order.
 */
import { hasCode, SaltworksError } from "../errors.ts";
import { templateCallsMax } from "../limits.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import { faultText } from "./compile.ts";
import { lineOf } from "./jinja/evaluate.ts";
import { parseTemplate } from "./jinja/parser.ts";
import { type ParsedTemplate, renderTemplate } from "./jinja/template.ts";
import { type CallArguments, Callable, dataOf, fault, type Item, Members } from "./jinja/values.ts";
import { loadYaml } from "./yaml.ts";

/** What the template sees, made anew for each rendering: a template may change it. */
export type TextNames = {
  readonly grains: ValueMap;
  readonly pillar: ValueMap;
  readonly opts: ValueMap;
  readonly saltenv: string;
};

export type TextFunctions = {
  readonly has: (name: string) => boolean;
  readonly call: (name: string, args: readonly Value[], kwargs: ValueMap) => Promise<Value>;
};

type Question = { readonly name: string; readonly args: readonly Value[]; readonly kwargs: ValueMap };
type Answer = { readonly value: Value } | { readonly failure: string };

/** Ends a rendering that needs an answer. */
class Unanswered extends Error {
  readonly question: Question;
  constructor(question: Question) {
    super(`no answer yet of ${question.name}`);
    this.question = question;
  }
}

/** @throws SaltworksError PILLAR_FAILED with Salt's text for what is wrong */
export async function renderText(text: string, names: () => TextNames, functions: TextFunctions): Promise<string> {
  try {
    const source = text.replace(/(?:\r\n|\r|\n)$/, "");
    const template = { name: "<command>", body: parseTemplate(source, { trimBlocks: false, lstripBlocks: false }) };
    const rendered = await answering(template, names, functions);
    return text.endsWith("\n") ? `${rendered}\n` : rendered;
  } catch (error) {
    if (!hasCode(error, "PILLAR_FAILED")) throw error;
    const { message, detail } = error as SaltworksError;
    const line = lineOf(error as SaltworksError);
    throw new SaltworksError(
      "PILLAR_FAILED",
      faultText(new SaltworksError("PILLAR_FAILED", message, line === undefined ? detail : { ...detail, line })),
    );
  }
}

async function answering(template: ParsedTemplate, names: () => TextNames, functions: TextFunctions): Promise<string> {
  const answers: Answer[] = [];
  for (;;) {
    try {
      return render(template, names(), functions, answers);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      if (answers.length >= templateCallsMax)
        throw fault("python", `more than ${templateCallsMax} calls of functions in one template`);
      answers.push(await answerOf(error.question, functions));
    }
  }
}

async function answerOf({ name, args, kwargs }: Question, functions: TextFunctions): Promise<Answer> {
  try {
    return { value: await functions.call(name, args, kwargs) };
  } catch (error) {
    // What fails in a function fails the template, at the place of the call.
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

function render(
  template: ParsedTemplate,
  { grains, pillar, opts, saltenv }: TextNames,
  { has }: TextFunctions,
  answers: readonly Answer[],
): string {
  let asked = 0;
  const call = (name: string, { positional, named }: CallArguments): Item => {
    const kwargs: ValueMap = new Map(Array.from(named, ([key, value]): [Value, Value] => [key, dataOf(value)]));
    const answer = answers[asked];
    asked += 1;
    if (answer === undefined) throw new Unanswered({ name, args: positional.map(dataOf), kwargs });
    if ("failure" in answer)
      throw fault("python", `Problem running salt function in Jinja template: ${answer.failure}`);
    return copied(answer.value);
  };
  const functionItem = (name: string) => (has(name) ? new Callable(name, (args) => call(name, args)) : undefined);
  const salt = new Members("dict", (name) =>
    name.includes(".") ? functionItem(name) : new Members("module", (inner) => functionItem(`${name}.${inner}`)),
  );
  const globals: [string, Item][] = [
    ["grains", grains],
    ["opts", opts],
    ["pillar", pillar],
    ["salt", salt],
    ["saltenv", saltenv],
  ];
  return renderTemplate(
    {
      globals,
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

/** Lists and maps of its own: a template may change what a function gave it. */
function copied(value: Value): Value {
  if (Array.isArray(value)) return value.map(copied);
  return value instanceof Map ? new Map(Array.from(value, ([key, inner]) => [copied(key), copied(inner)])) : value;
}
