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

/** Joins the processes' reports; the busiest one decides. */
export function judgeGenerator(o: {
  reports: readonly SelfReport[];
  loop: Loop;
  sent: number;
  late: number;
}): Point["generator"] {
  const cpuShare = Math.max(0, ...o.reports.map((report) => report.cpuShare));
  const loopDelayP99Ms = Math.max(0, ...o.reports.map((report) => report.loopDelayP99Ms));
  const voidReasons: string[] = [];
  if (cpuShare > cpuShareMax) {
    voidReasons.push(`the generator used ${percent(cpuShare)} of a core, more than ${percent(cpuShareMax)}`);
  }
  const delayMax = loopDelayP99MsMax[o.loop];
  if (loopDelayP99Ms > delayMax) {
    voidReasons.push(
      `the generator's event loop was ${loopDelayP99Ms.toFixed(1)} ms late at p99, more than ${delayMax} ms`,
    );
  }
  if (o.loop === "open" && o.late > o.sent * lateShareMax) {
    voidReasons.push(`${o.late} of ${o.sent} operations were sent late, more than ${percent(lateShareMax)}`);
  }
  return { cpuShare, loopDelayP99Ms, lateSends: o.late, isVoid: voidReasons.length > 0, voidReasons };
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
