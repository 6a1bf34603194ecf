/**
 * What functions of the minion use of folders that its own does not know: templates, and the names of runners. Its job processes load this
 * file by its address (`minionExtrasUrl`), and what stands behind it when it is first used.
 */
import type { Extras } from "../../minion/functions/module-contract.ts";

export const minionExtrasUrl = import.meta.url;

export const minionExtras: Extras = {
  renderTemplate: async (text, namesOf, functionOf) => {
    const { renderText } = await import("../../pillar/text-template.ts");
    return await renderText(text, namesOf, functionOf);
  },
  runnerFunctions: async () => {
    const { runnerFunctions } = await import("../../runners/registry.ts");
    return [...runnerFunctions.keys()];
  },
};
