/** Renderers and functions of the site's own Python in the files of an orchestration. Python starts at the first need. */
import type { MasterConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import type { Extras, TemplateFunction } from "../../minion/functions/module-contract.ts";
import type { SidecarAnswer } from "../../sidecar/contract.ts";
import type { Sidecar } from "../../sidecar/sidecar.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

type RenderState = Extras["renderState"];

/** Adds what only Python has to how files are rendered. */
export function renderingWithPython(
  { id, renderer, pillar_render_timeout: seconds }: MasterConfig,
  sidecar: Sidecar,
  render: RenderState,
): RenderState {
  return async (file, surroundings) => {
    const names = surroundings.namesOf();
    const of = (name: string): ValueMap => {
      const value = names.get(name);
      return value instanceof Map ? value : new Map();
    };
    const minion = { id, grains: of("grains"), saltenv: names.get("saltenv") ?? null, pillarenv: null, extra: null };
    const ask = async (question: { readonly kind: string; readonly [member: string]: unknown }): Promise<Value> =>
      await answered(sidecar.ask({ ...question, ...minion }, seconds * 1_000));
    const inPython =
      (fun: string): TemplateFunction =>
      (args, kwargs) =>
        ask({ kind: "function", fun, args, kwargs });
    return await render(file, {
      ...surroundings,
      functionOf: (name) => surroundings.functionOf(name) ?? inPython(name),
      inPython: () =>
        ask({
          ...{ kind: "render", path: file.place, environment: names.get("saltenv") ?? "base", sls: file.sls },
          ...{ default: renderer, names: new Map(), is_pillar: false, pillar: of("pillar") },
        }),
    });
  };
}

/** @throws SaltworksError PILLAR_FAILED, as for a file that cannot be rendered here */
async function answered(asked: Promise<SidecarAnswer>): Promise<Value> {
  try {
    return (await asked).value;
  } catch (error) {
    throw new SaltworksError("PILLAR_FAILED", (error as Error).message, {}, { cause: error });
  }
}
