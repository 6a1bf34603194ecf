/** Runner `pillar`: a minion's pillar rendered now, and the top files that decide it. */
import { decode, encode } from "../../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { ExtraArguments, RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

const environments = ["saltenv", "pillarenv"];

/** The master's grains of the minion, or its id as fqdn. Keywords override grains. */
function grainsOf({ minions }: RunnerContext, id: string, keywords: ValueMap): Uint8Array {
  const stored = minions?.get(id);
  const known = stored === undefined ? new Map<Value, Value>([["fqdn", id]]) : decode(stored.grains);
  const grains: ValueMap = known instanceof Map ? new Map(known) : new Map();
  for (const [name, value] of keywords) if (!environments.includes(String(name))) grains.set(name, value);
  return encode(grains, "bin");
}

async function render(
  context: RunnerContext,
  id: string,
  keywords: ValueMap,
  isTopOnly: boolean,
): Promise<{ readonly value: Value; readonly faults: readonly string[] }> {
  const { pillar, faults } = await masterOf(context).renderPillar({
    id,
    grains: grainsOf(context, id, keywords),
    saltenv: textArgument(keywords, "saltenv", "base"),
    pillarenv: textArgument(keywords, "pillarenv") || undefined,
    isTopOnly,
  });
  return { value: decode(pillar), faults };
}

async function showPillar(context: RunnerContext, args: ValueMap, { keywords }: ExtraArguments): Promise<Encodable> {
  return (await render(context, textArgument(args, "minion", "*"), keywords, false)).value;
}

async function showTop(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const id = textArgument(args, "minion", context.config.id);
  const { value, faults } = await render(context, id, args, true);
  return faults.length > 0 ? [...faults] : value;
}

/** The cached pillars, by minion; empty after they were forgotten. As in Salt, False while `pillar_cache` is off. */
async function keptPillars(
  context: RunnerContext,
  args: ValueMap,
  keywords: ValueMap,
  isForgotten: boolean,
): Promise<Encodable> {
  if (!context.config.pillar_cache) return false;
  const master = masterOf(context);
  const pillarenv = textArgument(keywords, "pillarenv") || undefined;
  const shown = new Map<Value, Value>();
  for (const id of await master.match({ target: textArgument(args, "minion", "*"), targetKind: "glob" })) {
    const pillar = await master.keptPillar({ id, pillarenv, isForgotten });
    if (pillar !== undefined) shown.set(id, decode(pillar));
  }
  return shown;
}

export const pillarRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "pillar.show_pillar",
    {
      parameters: parametersOf("minion"),
      takes: "keywords",
      doc: "A minion's pillar, rendered now; keywords replace its grains, saltenv= and pillarenv= choose the environment.",
      run: showPillar,
    },
  ],
  [
    "pillar.show_top",
    { parameters: parametersOf("minion", "saltenv"), doc: "The pillars' top files, merged.", run: showTop },
  ],
  [
    "pillar.clear_pillar_cache",
    {
      parameters: parametersOf("minion"),
      takes: "keywords",
      doc: "Forgets the pillars of these minions (a glob) in `pillar_cache`; False while it is off.",
      run: (context, args, { keywords }) => keptPillars(context, args, keywords, true),
    },
  ],
  [
    "pillar.show_pillar_cache",
    {
      parameters: parametersOf("minion"),
      takes: "keywords",
      doc: "Pillars of these minions (a glob) in `pillar_cache`, only those of `pillarenv=`; False while it is off.",
      run: (context, args, { keywords }) => keptPillars(context, args, keywords, false),
    },
  ],
]);
