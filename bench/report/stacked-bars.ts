/** CPU per operation as one stacked bar for each run, divided by role of thread. Plain HTML, which prints and needs no script. */
import { escapeHtml, formatNumber, notSeen } from "./format.ts";
import { cpuByRole, type Run } from "./runs.ts";

/** Colours of the page's palette. Further roles share the last one as "others". */
const colourCount = 8;

export function cpuBars(runs: readonly Run[]): string {
  const costs = runs.map((run) => ({ run, roles: rolesOf(run) }));
  const usMax = Math.max(...costs.map(({ run }) => run.point.cpu.usPerOperation), 0);
  if (usMax === 0) return "";
  const colours = rolesByCost(costs.map(({ roles }) => roles));
  const named = [...colours.keys()].slice(0, colourCount - 1);
  const bars = costs.map(({ run, roles }) => {
    const parts = named.map((role) => [role, roles.get(role) ?? 0] as const);
    const others = [...roles].filter(([role]) => !named.includes(role)).reduce((sum, [, us]) => sum + us, 0);
    const pieces = [...parts, ["others", others] as const].map(([role, us], index) =>
      us <= 0
        ? ""
        : `<span class="p${index}" style="width:${((us / usMax) * 100).toFixed(3)}%" title="${escapeHtml(`${role}: ${formatNumber(us)} µs`)}"></span>`,
    );
    const us = run.point.isUsageUnknown === true ? notSeen : `${formatNumber(run.point.cpu.usPerOperation)} µs`;
    return `<div>${escapeHtml(run.title)}</div><div class="bar">${pieces.join("")}</div><div>${us}</div>`;
  });
  const isCut = colours.size > named.length;
  const keys = [...named, ...(isCut ? ["others"] : [])].map(
    (role, index) => `<li><i class="p${index}"></i>${escapeHtml(role)}</li>`,
  );
  return `<div class="bars">${bars.join("")}</div><ul class="key">${keys.join("")}</ul>`;
}

/** A run whose CPU was not divided by thread is one piece. */
function rolesOf({ point }: Run): Map<string, number> {
  const roles = cpuByRole(point);
  return roles.size > 0 ? roles : new Map([["all threads", point.cpu.usPerOperation]]);
}

/** The role with the highest cost over all runs comes first. Each role keeps its colour in all runs. */
function rolesByCost(costs: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const roles of costs) for (const [role, us] of roles) sums.set(role, (sums.get(role) ?? 0) + us);
  return new Map([...sums].sort((a, b) => b[1] - a[1]));
}
