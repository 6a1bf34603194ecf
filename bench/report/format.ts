/** Formats numbers and texts for tables of the terminal and of the page. */
import { isRough, type PercentileName, percentileUs } from "../results/percentiles.ts";
import type { OperationResult, Point } from "../results/schema.ts";

const htmlEntities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => htmlEntities[character] ?? "");
}

/** Three significant digits, thousands separated: 12,300; 4.57; 0.0123. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : "∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return grouped(value);
  if (Math.abs(value) >= 100) return grouped(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function grouped(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** CPU time and memory of a running master that the bench cannot read. */
export const notSeen = "not seen";

/** Microseconds as milliseconds, the unit in which latencies are shown. */
export function formatMs(us: number): string {
  return formatNumber(us / 1_000);
}

/** What a reader of `formatPercentileMs` needs to know. */
export const percentileNote =
  "≈: fewer than ten samples lie above this percentile. Too few samples: none lies above it.";

/** A percentile in milliseconds: "12.3", "≈ 12.3" if it is rough, or "too few samples (40)". */
export function formatPercentileMs(operation: OperationResult, name: PercentileName): string {
  const us = percentileUs(operation, name);
  if (us === undefined) return tooFewSamples(operation.completed);
  return isRough(operation, name) ? `≈ ${formatMs(us)}` : formatMs(us);
}

export function tooFewSamples(count: number): string {
  return `too few samples (${formatNumber(count)})`;
}

/**
 * A figure with its interval, if it was fitted: "1,200 (95 %: −300 to 2,700), undecided". A slope whose interval includes 0 may go either
 * way. Undefined if the point does not have it.
 */
export function formatFigure({ figures, intervals = {} }: Pick<Point, "figures" | "intervals">, name: string) {
  const value = figures[name];
  const interval = intervals[name];
  if (value === undefined || interval === undefined) return value === undefined ? undefined : formatNumber(value);
  const range = `(95 %: ${formatNumber(interval.low)} to ${formatNumber(interval.high)})`;
  return `${formatNumber(value)} ${range}${isUndecided(interval) ? ", undecided" : ""}`;
}

function isUndecided({ low, high }: { readonly low: number; readonly high: number }): boolean {
  return low <= 0 && high >= 0;
}

const mebibyte = 1024 * 1024;

export function formatMebibytes(bytes: number): string {
  return formatNumber(Math.round((bytes / mebibyte) * 10) / 10);
}

/** A ratio as a percentage, 0.253 as +25.3 %. */
export function formatChange(ratio: number): string {
  const percent = (ratio - 1) * 100;
  const digits = Math.abs(percent) >= 10 ? 0 : 1;
  return `${percent >= 0 ? "+" : "−"}${Math.abs(percent).toFixed(digits)} %`;
}

/** Configuration and parameter values on one line. */
export function formatValue(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
