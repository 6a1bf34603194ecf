/** Fills every minion's mine, for scenarios that read mines. */
import type { ScenarioContext } from "../scenario.ts";
import type { StormParameters, StormSite } from "./storm-setup.ts";

const lane = "mine";

/** Each minion puts a text of this size into its mine. */
export async function fillMines(
  { parameters: p, progress, signal }: ScenarioContext<StormParameters & { mineBytes: number }>,
  site: StormSite,
): Promise<void> {
  const connections = Math.min(p.minions, fillConnections);
  const ask = { asking: "_mine", rounds: 1, connections, target: "", textBytes: p.mineBytes } as const;
  await site.storm.prepareAsks({ lane, ...ask });
  await site.phase(progress, "fill the mine", p.minions, () => site.storm.run([{ lane }], { signal }));
}

const fillConnections = 100;
