/** One line of figures a second while a scenario measures, for an operator at a terminal. */
import { formatMebibytes, formatMs, formatNumber } from "../../report/format.ts";
import type { MasterSample } from "../setup/master-contract.ts";

/** How each figure is shown. A master that does not export one has a shorter line. */
const shown: readonly (readonly [name: string, text: (value: number) => string])[] = [
  ["returnsPerSecond", (value) => `${formatNumber(Math.round(value))} returns/s`],
  ["queueDepth", (value) => `${formatNumber(value)} waiting`],
  ["queueWaitUs", (value) => `wait ${formatMs(value)} ms`],
  ["cpuCores", (value) => `${value.toFixed(2)} cores`],
  ["rssBytes", (value) => `${formatMebibytes(value)} MiB`],
  ["connected", (value) => `${formatNumber(value)} connected`],
];

/** `name`: of the master, if several are measured in turns. */
export function liveLine({ atMs, values }: MasterSample, name = ""): string {
  const figures = shown.flatMap(([key, text]) => {
    const value = values[key];
    return value === undefined ? [] : [text(value)];
  });
  const place = `${String(Math.round(atMs / 1_000)).padStart(5)} s`;
  return [...(name === "" ? [] : [`  ${name}`]), place, ...figures].join("  ");
}
