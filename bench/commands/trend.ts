/** `saltworks bench trend`: many results of one scenario over time, as a table, in sentences and as a page. */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../src/cli/host/host.ts";
import { SaltworksError } from "../../src/errors.ts";
import { formatNumber } from "../report/format.ts";
import { dayOf, figureNames, type Trend, type TrendFile, trendOf } from "../report/trend.ts";
import { trendHtml } from "../report/trend-page.ts";
import { demandDirectory, readResult } from "../results/files.ts";
import { directoryOf } from "./run-request.ts";
import { textTable } from "./text-table.ts";

export type TrendOptions = {
  readonly isJson: boolean;
  readonly reportFile: string | undefined;
  readonly outputDirectory: string | undefined;
};

const filesMax = 10_000;

/** @returns the exit code */
export function showTrend(paths: readonly string[], options: TrendOptions, host: Host): number {
  if (paths.length === 0) throw new SaltworksError("USAGE", "trend takes result files, or directories with results");
  const { files, unread } = readAll(paths);
  const found = trendOf(files);
  if (found === undefined) throw new SaltworksError("USAGE", `there is no result in ${paths.join(", ")}`);
  const trend = { ...found, leftOut: [...found.leftOut, ...unread] };
  for (const text of trend.leftOut) host.complain(`Left out: ${text}\n`);
  host.write(options.isJson ? `${JSON.stringify(trend)}\n` : trendText(trend));
  if (options.isJson && options.reportFile === undefined) return 0;
  const page = options.reportFile ?? join(directoryOf(options), `trend-${trend.scenario.name}.html`);
  if (options.reportFile === undefined) demandDirectory(directoryOf(options));
  writeFileSync(page, trendHtml(trend));
  if (options.isJson) host.complain(`Plots: ${page}\n`);
  else host.write(`Plots: ${page}\n`);
  return 0;
}

/** Files are named by the operator, so a fault is an error. Files of a directory are left out with the reason. */
function readAll(paths: readonly string[]): { readonly files: TrendFile[]; readonly unread: string[] } {
  const files: TrendFile[] = [];
  const unread: string[] = [];
  for (const path of paths) {
    if (!isDirectory(path)) {
      files.push({ path, result: readResult(path) });
      continue;
    }
    for (const name of resultsIn(path)) {
      try {
        files.push({ path: name, result: readResult(name) });
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
        unread.push(error.message.replace(/^cannot read the result /, ""));
      }
    }
  }
  return { files, unread };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** All JSON files below the directory. @throws SaltworksError USAGE if they are too many */
function resultsIn(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
  if (names.length <= filesMax) return names.sort().map((name) => join(directory, name));
  throw new SaltworksError("USAGE", `${directory} has ${names.length} JSON files, more than ${filesMax}`);
}

function trendText(trend: Trend): string {
  const names = figureNames(trend);
  const rows = trend.rows.map(({ figures, ...row }) => [
    dayOf(row),
    row.commit,
    row.series,
    ...names.map((name) => (figures[name] === undefined ? "–" : formatNumber(figures[name]))),
  ]);
  const { name, version } = trend.scenario;
  const machines = Object.entries(trend.machines).map(([letter, text]) => `machine ${letter}: ${text}\n`);
  const changes = trend.changes.map((text) => `\n${text}\n`);
  const table = textTable(["started, UTC", "commit", "series", ...names], rows);
  return `${name} version ${version}\n${machines.join("")}\n${table}${changes.join("")}`;
}
