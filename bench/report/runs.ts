/** The points of a result, each with the master that it measured: ours first, then the peers beside it. */
import type { AgentReport, OperationResult, Point, RunResult } from "../results/schema.ts";
import { formatNumber } from "./format.ts";

export type Run = {
  readonly master: RunResult["master"];
  readonly point: Point;
  /** Equal for repeats of one run. */
  readonly name: string;
  /** Unique within the result. */
  readonly title: string;
};

export function runsOf(result: RunResult): Run[] {
  const sides = [{ master: result.master, points: result.points }, ...(result.peers ?? [])];
  const named = sides.flatMap(({ master, points }) =>
    points.map((point) => {
      const name = sides.length === 1 ? point.label : `${masterName(master)}: ${point.label}`;
      return { master, point, name };
    }),
  );
  const uses = new Map<string, number>();
  return named.map(({ master, point, name }) => {
    const isRepeated = named.filter((other) => other.name === name).length > 1;
    const use = (uses.get(name) ?? 0) + 1;
    uses.set(name, use);
    const title = `${name}${isRepeated ? ` (run ${use})` : ""}${point.generator.isVoid ? ", void" : ""}`;
    return { master, point, name, title };
  });
}

export function masterName({ kind, version, address, cluster }: RunResult["master"]): string {
  const members = cluster === undefined ? "" : ` (${cluster.members} members, nats-server ${cluster.natsServer})`;
  const place = address === undefined ? `${version}${members}` : `at ${address}`;
  return { saltworks: `Saltworks ${place}`, salt: `Salt ${place}`, floor: "C floor", unknown: `master ${place}` }[kind];
}

/** A generator host in a table under `agentHead`. */
export function agentCells(agent: AgentReport): string[] {
  return [
    `${agent.host} (${agent.address})`,
    formatNumber(agent.minions),
    `${formatNumber(agent.cores)} of ${agent.cpu}, Node.js ${agent.node}`,
    `${formatNumber(agent.cpuShare * 100)} %`,
    `${agent.clockOffsetMs.toFixed(1)} ± ${agent.clockUncertaintyMs.toFixed(1)} ms`,
  ];
}

export const agentHead = ["run", "generator host", "minions", "cores", "CPU", "clock"];

/** Classes of operations by name, in the scenario's order. Classes without operations, such as those of an idle master, are left out. */
export function operationsOf(point: Point): [string, OperationResult][] {
  return Object.entries(point.operations).filter(([, { planned }]) => planned > 0);
}

/** Figures that say how the load was made and that it was whole. All others are what the scenario measures. */
const ofLoad =
  /^generatorCpu|(?:Verified|Repeated|Events|BytesMean)$|^(?:sealedAheadShare|authConnections|requestsPerHighstate|looks|jobs|eventsFired|pillars|expectedMinions)$/;

/** Names of the figures of runs in their order. Parameters that are repeated as figures are left out. */
export function figureNamesOf(runs: readonly Run[], kind: "measured" | "load"): string[] {
  const names = runs.flatMap(({ point: { figures, parameters } }) =>
    Object.keys(figures).filter((name) => parameters[name] === undefined),
  );
  return [...new Set(names)].filter((name) => ofLoad.test(name) === (kind === "load"));
}

/** Why runs are void, of which results of earlier releases know only that they are: "the load generator was the limit, not the master". */
export function voidCauseText(points: readonly Point[]): string {
  const voids = points.filter(({ generator }) => generator.isVoid);
  const others = voids.filter(({ generator }) => generator.voidCause === "machine").length;
  const [generator, machine] = ["the load generator was the limit, not the master", "other programs took the machine"];
  if (others === 0) return generator;
  return others === voids.length ? machine : `in ${voids.length - others} ${generator}; in ${others} ${machine}`;
}

/** The role of a thread: its name without its number, as `sw-worker-0` and `sw-worker-1` do the same work. */
export function threadRole(name: string): string {
  return name.replace(/[-/ ]*\d+$/, "") || name;
}

/** Microseconds of CPU per operation by role of thread, greatest first. CPU that the operations share is `usPerOperation`. */
export function cpuByRole({ cpu }: Point): Map<string, number> {
  const roles = new Map<string, number>();
  for (const [name, ms] of Object.entries(cpu.byThreadMs)) {
    roles.set(threadRole(name), (roles.get(threadRole(name)) ?? 0) + ms);
  }
  const sum = [...roles.values()].reduce((total, ms) => total + ms, 0);
  const scale = sum > 0 ? cpu.usPerOperation / sum : 0;
  return new Map([...roles].sort((a, b) => b[1] - a[1]).map(([role, ms]) => [role, ms * scale]));
}
