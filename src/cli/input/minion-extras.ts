/**
 * Gives the minion's functions templates and the runners' names, which `src/minion` may not import. Job processes load this file by
 * `minionExtrasUrl`, and its imports at their first use.
 */
import type { Extras } from "../../minion/functions/module-contract.ts";

export const minionExtrasUrl = import.meta.url;

export const minionExtras: Extras = {
  renderTemplate: async (text, namesOf, functionOf) => {
    const { renderText } = await import("../../pillar/text-template.ts");
    return await renderText(text, namesOf, functionOf);
  },
  renderState: async (file, surroundings) => {
    const { renderState } = await import("../../pillar/state-template.ts");
    return await renderState(file, surroundings);
  },
  runnerFunctions: async () => {
    const { runnerFunctions } = await import("../../runners/registry.ts");
    return [...runnerFunctions.keys()];
  },
};
