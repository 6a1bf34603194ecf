/** A result as tables for spreadsheets and scripts (RFC 4180): a row for each class of operation of a point, and a row for each second. */
import { percentileNames, percentileUs } from "./percentiles.ts";
import type { Point, RunResult } from "./schema.ts";

type Cell = string | number;
type Side = Pick<RunResult, "master" | "points">;

const operationColumns = [
  ...["master", "version", "point", "repeat", "operation", "planned", "completed", "failed", "timed_out", "late"],
  ...["per_second", "p50_us", "p90_us", "p99_us", "p99_9_us", "max_us", "cpu_us_per_operation", "rss_bytes"],
  ...["peak_rss_bytes", "missing", "is_void"],
  ...["to_master_bytes", "from_master_bytes", "written_bytes_per_operation", "syncs_per_operation"],
  ...["cache_bytes_per_operation", "cache_bytes_per_day"],
];

export function operationsCsv(result: RunResult): string {
  const rows = eachPoint(result).flatMap(([{ master }, point]) =>
    Object.entries(point.operations).map(([name, operation]): Cell[] => {
      const { planned, completed, failed, timedOut, late, perSecond } = operation;
      // An empty cell for too few samples.
      const latencies = percentileNames.map((percentile): Cell => percentileUs(operation, percentile) ?? "");
      return [
        ...[master.kind, master.version, point.label, repeatOf(point), name],
        ...[planned, completed, failed, timedOut, late, perSecond, ...latencies],
        ...usageCells(point),
        ...[point.correctness.missing, point.generator.isVoid ? 1 : 0],
        // Empty, where it is not known: 0 would be a claim.
        ...[operation.toMasterBytes ?? "", operation.fromMasterBytes ?? ""],
        ...[point.storage?.writtenBytesPerOperation ?? "", point.storage?.syncsPerOperation ?? ""],
        ...[point.storage?.cacheBytesPerOperation ?? "", point.storage?.cacheBytesPerDay ?? ""],
      ];
    }),
  );
  return csvOf([operationColumns, ...rows]);
}

export function seriesCsv(result: RunResult): string {
  const points = eachPoint(result);
  const names = [...new Set(points.flatMap(([, { series }]) => Object.keys(series.values)))];
  const rows = points.flatMap(([{ master }, point]) =>
    point.series.atMs.map((atMs, index): Cell[] => [
      ...[master.kind, master.version, point.label, repeatOf(point), Math.round(atMs)],
      ...names.map((name) => point.series.values[name]?.[index] ?? ""),
    ]),
  );
  return csvOf([["master", "version", "point", "repeat", "at_ms", ...names], ...rows]);
}

function eachPoint({ master, points, peers = [] }: RunResult): [Side, Point][] {
  return [{ master, points }, ...peers].flatMap((side) => side.points.map((point): [Side, Point] => [side, point]));
}

/** Empty, where the bench could not see it. */
function usageCells({ cpu, memory, isUsageUnknown }: Point): Cell[] {
  return isUsageUnknown === true ? ["", "", ""] : [cpu.usPerOperation, memory.rssBytes, memory.peakRssBytes];
}

function repeatOf({ parameters }: Point): Cell {
  return typeof parameters.repeat === "number" ? parameters.repeat : 1;
}

function csvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

function cellText(cell: Cell): string {
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
