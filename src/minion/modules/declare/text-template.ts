/** `template=jinja`: renders a command or a script with the variables of Salt's templates. */

import { hasCode } from "../../../errors.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { asValue, copyOf, type Value, type ValueMap } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { CallContext, TemplateFunction } from "../../functions/module-contract.ts";
import { optionsOf } from "./settings.ts";

/** Salt's template engines. This minion supports jinja only. */
const engines = ["jinja", "mako", "genshi", "cheetah", "wempy", "py"];

/** Template arguments of a call. `engine` undefined: the text is not a template. */
export type TemplateChoice = {
  readonly engine: string | undefined;
  readonly saltenv: string;
  /** With `pillarenv` or `pillarOverride` the pillar is compiled for the call; without them it is the minion's. */
  readonly pillarenv: string | undefined;
  readonly pillarOverride: Value;
};

/** @throws SaltworksError FUNCTION_FAILED if this minion does not have the engine */
export function readTemplateChoice(context: CallContext, get: (name: string) => Value): TemplateChoice {
  const text = (name: string) => (isTrue(get(name)) ? strOf(get(name)) : undefined);
  const engine = text("template");
  if (engine !== undefined && !engines.includes(engine))
    throw commandError(`Attempted to render file paths with unavailable engine ${engine}`);
  if (engine !== undefined && engine !== "jinja")
    throw commandError(`template=${engine} is not supported by this minion`);
  return {
    engine,
    saltenv: text("saltenv") ?? context.config.saltenv ?? "base",
    pillarenv: text("pillarenv"),
    pillarOverride: get("pillar"),
  };
}

/**
 * Returns a function that renders texts, all with the same pillar. `variables`: more of the templates' variables.
 *
 * @throws SaltworksError FUNCTION_FAILED with the fault, its line, and `file` if the text is a file's
 */
export async function renderer(
  context: CallContext,
  choice: TemplateChoice,
  variables: ValueMap = new Map(),
): Promise<(text: string, file?: string) => Promise<string>> {
  const { extras } = context;
  if (extras === undefined) throw commandError("template=jinja is not supported here");
  const pillar = await pillarOf(context, choice);
  const options = optionsOf(context);
  const namesOf = () =>
    new Map<Value, Value>([
      ["grains", copyOf(context.grains())],
      ["pillar", copyOf(pillar)],
      ["opts", copyOf(options)],
      ["saltenv", choice.saltenv],
      ...copyOf(variables),
    ]);
  const functionOf = (name: string): TemplateFunction | undefined =>
    context.functions.has(name)
      ? async (args, kwargs) => asValue(await context.callFunction(name, args, kwargs))
      : undefined;
  return async (text, file) => {
    try {
      return await extras.renderTemplate(text, namesOf, functionOf);
    } catch (error) {
      if (!hasCode(error, "PILLAR_FAILED")) throw error;
      const place = file === undefined ? "" : `; file ${file}`;
      throw commandError(`Failed to execute cmd with error: ${(error as Error).message}${place}`);
    }
  };
}

async function pillarOf(context: CallContext, { pillarenv, pillarOverride }: TemplateChoice): Promise<ValueMap> {
  if (pillarenv === undefined && pillarOverride === null) return context.pillar();
  return await context.compilePillar({
    ...(pillarenv === undefined ? {} : { pillarenv }),
    ...(pillarOverride === null ? {} : { override: pillarOverride }),
  });
}
