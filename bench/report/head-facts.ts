/** What a reader must know before any figure: the load, the settings of each master, and how busy the machine was. Pure. */
import type { RunResult } from "../results/schema.ts";
import { formatNumber, formatValue } from "./format.ts";
import { masterName } from "./runs.ts";

/** Pairs of a heading and a text on one line. */
export function headFacts(result: RunResult): (readonly [name: string, text: string])[] {
  const { master, peers = [], scenario, machine, tool, points } = result;
  const masters = [master, ...peers.map((peer) => peer.master)];
  const shares = [...points, ...peers.flatMap((peer) => peer.points)].flatMap(
    ({ generator }) => generator.otherShare ?? [],
  );
  const others =
    shares.length === 0
      ? ""
      : `; other programs took up to ${Math.round(Math.max(...shares) * 100)} % of it during the runs`;
  return [
    ["load", valuesText(scenario.parameters)],
    ...masters.flatMap((each) => {
      const settings = valuesText(each.settings ?? each.config);
      const name = masters.length === 1 ? "settings" : `settings of ${masterName(each)}`;
      return settings === "" ? [] : [[name, settings] as const];
    }),
    ["machine", `load average ${formatNumber(machine.loadAverage)} at the start${others}`],
    ["measured by", `saltworks ${tool.version}, commit ${tool.commit}`],
  ];
}

function valuesText(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${formatValue(value)}`)
    .join(", ");
}
