/** What two results differ in, one sentence for each label: CPU with the threads that it went to or came from, and the tail of latency. Pure. */
import type { RunResult } from "../results/schema.ts";
import type { Difference } from "./compare.ts";
import { formatChange, formatNumber } from "./format.ts";
import { cpuByRole } from "./runs.ts";

/** Threads that a sentence names, and the share of the whole change from which on it names one. */
const rolesMax = 2;
const roleShareMin = 0.2;

/** Sentences by label. `found`: the differences of these results. */
export function explanations(before: RunResult, after: RunResult, found: readonly Difference[]): string[] {
  const labels = [...new Set(found.map(({ label }) => label))];
  return labels.flatMap((label) => {
    const own = found.filter((difference) => difference.label === label);
    const cpu = own.find(({ name }) => name === "CPU µs per operation");
    const tail = own.find(({ name }) => name.endsWith(" p99 ms"));
    const parts = [
      ...(cpu === undefined ? [] : [`${changeText(cpu, "CPU per operation", "µs")}${threadsText(before, after, cpu)}`]),
      ...(tail === undefined ? [] : [changeText(tail, `the p99 of ${tail.name.replace(/ p99 ms$/, "")}`, "ms")]),
    ];
    return parts.length === 0 ? [] : [`${label}: ${parts.join("; ")}.`];
  });
}

function changeText({ before, after, ratio, interval, verdict }: Difference, what: string, unit: string): string {
  const values = `${formatNumber(before)} to ${formatNumber(after)} ${unit}`;
  if (before === after) return `${what} stayed at ${formatNumber(after)} ${unit}`;
  if (ratio === undefined) return `${what} went from ${values}`;
  const change = formatChange(ratio);
  if (interval === undefined) return `${what} went from ${values} (${change}), from too few runs to tell it from noise`;
  const range = `${change}; 95 %: ${formatChange(interval.low)} to ${formatChange(interval.high)}`;
  if (verdict === "no verdict") return `${what} may be the same: ${values} (${range})`;
  return `${what} ${verdict === "less" ? "fell" : "rose"} from ${values} (${range})`;
}

/** The threads that changed most in the direction of the whole. */
function threadsText(before: RunResult, after: RunResult, { label, before: was, after: is }: Difference): string {
  const [left, right] = [rolesOf(before, label), rolesOf(after, label)];
  const whole = is - was;
  const named = [...new Set([...left.keys(), ...right.keys()])]
    .map((role) => ({ role, change: (right.get(role) ?? 0) - (left.get(role) ?? 0) }))
    .filter(({ change }) => change / whole >= roleShareMin)
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change))
    .slice(0, rolesMax)
    .map(({ role, change }) => `${role} ${change > 0 ? "+" : "−"}${formatNumber(Math.abs(change))} µs`);
  return named.length === 0 ? "" : `, mainly in ${named.join(" and ")}`;
}

/** Means of the label's valid points, by role of thread. */
function rolesOf({ points }: RunResult, label: string): Map<string, number> {
  const own = points.filter((point) => point.label === label && !point.generator.isVoid);
  const sums = new Map<string, number>();
  for (const point of own)
    for (const [role, us] of cpuByRole(point)) sums.set(role, (sums.get(role) ?? 0) + us / own.length);
  return sums;
}
