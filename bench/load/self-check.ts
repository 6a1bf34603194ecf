/** A load generator's check of itself: whether the generator, and not the master, limited a run. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { otherShareMax } from "../machine-load.ts";
import type { Loop, Point } from "../results/schema.ts";

/** Figures of one process of the generator over the measured span. */
export type SelfReport = {
  /** CPU time divided by wall time: 1 is one core, busy all the time. */
  readonly cpuShare: number;
  readonly cpuMs: number;
  readonly loopDelayP99Ms: number;
  /** The machine, if an agent ran the process. */
  readonly host?: { readonly name: string; readonly cores: number };
};

/** Resolution of the loop delay's timer. An idle loop reports about this delay, so it is subtracted. */
const resolutionMs = 1;

export class SelfCheck {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  #cpu = process.cpuUsage();
  #startedMs = performance.now();

  start(): void {
    this.#delay.reset();
    this.#delay.enable();
    this.#cpu = process.cpuUsage();
    this.#startedMs = performance.now();
  }

  /** The figures since `start`. Measuring continues. */
  report(): SelfReport {
    const { user, system } = process.cpuUsage(this.#cpu);
    const wallMs = performance.now() - this.#startedMs;
    const p99Ms = this.#delay.percentile(99) / 1e6;
    return {
      cpuMs: (user + system) / 1_000,
      cpuShare: wallMs === 0 ? 0 : (user + system) / 1_000 / wallMs,
      loopDelayP99Ms: Number.isFinite(p99Ms) ? Math.max(0, p99Ms - resolutionMs) : 0,
    };
  }

  stop(): SelfReport {
    const report = this.report();
    this.#delay.disable();
    return report;
  }
}

/** Above this share of a core a process is saturated, and requests wait for the generator. */
const cpuShareMax = 0.9;
/** A loop that is this late shifts every latency. Closed loops have no planned times and may be later. */
const loopDelayP99MsMax = { open: 25, closed: 250 } as const;
/** The share of an open loop's operations that may be late. */
const lateShareMax = 0.01;

/**
 * Joins the processes' reports; the busiest one decides. Reasons name its host, if the load came from several.
 *
 * @param o.lateOn the hosts whose operations were late, as text
 */
export function judgeGenerator(o: {
  reports: readonly SelfReport[];
  loop: Loop;
  sent: number;
  late: number;
  lateOn?: string;
}): Point["generator"] {
  const hosts = new Map<string, SelfReport[]>();
  for (const report of o.reports) {
    const name = report.host?.name ?? "";
    hosts.set(name, [...(hosts.get(name) ?? []), report]);
  }
  const voidReasons = [...hosts.values()].flatMap((reports) => reasonsOf(reports, loopDelayP99MsMax[o.loop]));
  if (o.loop === "open" && o.late > o.sent * lateShareMax) {
    const where = o.lateOn === undefined ? "" : ` (${o.lateOn})`;
    voidReasons.push(`${o.late} of ${o.sent} operations were sent late, more than ${percent(lateShareMax)}${where}`);
  }
  return {
    cpuShare: most(o.reports, "cpuShare"),
    loopDelayP99Ms: most(o.reports, "loopDelayP99Ms"),
    lateSends: o.late,
    isVoid: voidReasons.length > 0,
    voidReasons,
  };
}

/** Of the processes of one host. */
function reasonsOf(reports: readonly SelfReport[], delayMsMax: number): string[] {
  const host = reports[0]?.host;
  const generator = host === undefined ? "the generator" : `the generator on ${host.name}`;
  const cpuShare = most(reports, "cpuShare");
  const loopDelayP99Ms = most(reports, "loopDelayP99Ms");
  const reasons: string[] = [];
  if (cpuShare > cpuShareMax) {
    reasons.push(`${generator} used ${percent(cpuShare)} of a core, more than ${percent(cpuShareMax)}`);
  } else if (host !== undefined) {
    const whole = shareOfHost(reports, host.cores);
    const limit = percent(cpuShareMax);
    if (whole > cpuShareMax) reasons.push(`${generator} used ${percent(whole)} of all cores, more than ${limit}`);
  }
  if (loopDelayP99Ms > delayMsMax) {
    const late = `${loopDelayP99Ms.toFixed(1)} ms late at p99, more than ${delayMsMax} ms`;
    reasons.push(
      host === undefined ? `the generator's event loop was ${late}` : `the event loop of ${generator} was ${late}`,
    );
  }
  return reasons;
}

/** The share that the processes used of all cores of their host. */
export function shareOfHost(reports: readonly SelfReport[], cores: number): number {
  return reports.reduce((sum, { cpuShare }) => sum + cpuShare, 0) / cores;
}

function most(reports: readonly SelfReport[], figure: "cpuShare" | "loopDelayP99Ms"): number {
  return Math.max(0, ...reports.map((report) => report[figure]));
}

/**
 * Tells why a run is void. A generator that used its core up was the limit itself. One that was late without that did not get its core: where
 * other programs took more than `otherShareMax` of the machine, it was because of them.
 */
export function besideOthers(generator: Point["generator"], otherShare: number): Point["generator"] {
  if (!generator.isVoid) return { ...generator, otherShare };
  const isMachine = generator.cpuShare <= cpuShareMax && otherShare > otherShareMax;
  if (!isMachine) return { ...generator, otherShare, voidCause: "generator" };
  const others = `other programs took ${percent(otherShare)} of the machine's CPU time`;
  return { ...generator, otherShare, voidCause: "machine", voidReasons: [others, ...generator.voidReasons] };
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`;
}
