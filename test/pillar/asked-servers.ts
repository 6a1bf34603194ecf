/** Compiles a pillar with external sources that ask servers, as the master does it. */
import type { Overrides } from "../../src/config/load.ts";
import { type CompiledPillar, PillarCompiler } from "../../src/pillar/compile.ts";
import { runSources } from "../../src/pillar/external/run-sources.ts";
import { decode } from "../../src/wire/msgpack.ts";
import type { Value } from "../../src/wire/values.ts";
import { grains, settingsOf } from "./rendering.ts";

export type Answered = { readonly pillar: string };

/** The pillar that real Salt made. */
export const theirs = (answers: Record<string, Answered>, name: string) =>
  decode(Buffer.from(answers[name]?.pillar ?? "", "base64"));

/** As the master does it: sources that wait first, then the pillar. */
export async function compiled(
  options: Overrides,
  more: readonly (readonly [string, Value])[] = [],
  timeoutMs = 30_000,
): Promise<CompiledPillar & { readonly counts: Readonly<Record<string, number>> }> {
  const settings = settingsOf(options);
  const minion = { id: "web1.example.org", grains: new Map([...grains(), ...more]) };
  const { outcomes, counts } = await runSources(settings, minion, process.env, timeoutMs);
  const request = { minion, saltenv: undefined, pillarenv: undefined, override: new Map(), outcomes };
  return { ...new PillarCompiler(settings).compile(request), counts };
}

export const errorsOf = ({ pillar }: CompiledPillar) => String(pillar.get("_errors"));
