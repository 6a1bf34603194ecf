/** What the master knows of each returner of `event_return`: sums the states that the lane tells, and logs what an operator must know. */
import type { Logger } from "pino";
import { type ReturnerCount, type ReturnerState, returnerCounts } from "../../databases/events/shipper.ts";
import type { EventReturnStatus } from "../../runners/contract/contract.ts";

/** How often the log repeats that a returner is down, or that events are dropped. */
export const tellAgainMs = 600_000;
/** Events per second are measured over this time. */
const rateMs = 10_000;

class Returner {
  readonly totals: Record<ReturnerCount, number> = {
    ...{ written: 0, present: 0, refused: 0, dropped: 0, batches: 0, failures: 0 },
  };
  latest: ReturnerState;
  lost = 0;
  lastFault: string | undefined;
  faultSinceMs = 0;
  rate = { sinceMs: performance.now(), written: 0, perSecond: 0 };
  faultToldMs = Number.NEGATIVE_INFINITY;
  dropsToldMs = Number.NEGATIVE_INFINITY;

  constructor(first: ReturnerState) {
    this.latest = first;
  }
}

export class ReturnerReports {
  readonly #logger: Logger;
  readonly #returners = new Map<string, Returner>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  statuses(nowMs: number): readonly EventReturnStatus[] {
    return [...this.#returners.values()].map((returner) => statusOf(returner, nowMs));
  }

  /** @param isOtherThread - the counters begin at zero, and what waited in the former thread is lost */
  note(state: ReturnerState, isOtherThread: boolean): void {
    const returner = this.#returners.get(state.name) ?? new Returner({ ...state, counters: zeros, fault: undefined });
    this.#returners.set(state.name, returner);
    const before = returner.latest;
    if (isOtherThread) returner.lost += before.waiting;
    for (const count of returnerCounts)
      returner.totals[count] += state.counters[count] - (isOtherThread ? 0 : before.counters[count]);
    returner.latest = { ...state, refusals: [] };
    for (const refusal of state.refusals)
      this.#logger.error({ returner: state.name }, `a returner of events refused one, which is lost: ${refusal}`);
    this.#noteFault(returner, before);
    this.#noteDrops(returner, before);
    const { rate, totals } = returner;
    const ms = performance.now() - rate.sinceMs;
    if (ms < rateMs) return;
    const perSecond = Math.round(((totals.written - rate.written) * 1_000) / ms);
    returner.rate = { sinceMs: performance.now(), written: totals.written, perSecond };
  }

  #noteFault(returner: Returner, before: ReturnerState): void {
    const { name, fault, waiting } = returner.latest;
    if (fault === undefined) {
      if (before.fault !== undefined)
        this.#logger.info({ returner: name, waiting }, "a returner of events takes them again");
      returner.faultToldMs = Number.NEGATIVE_INFINITY;
      return;
    }
    returner.lastFault = fault;
    if (before.fault === undefined) returner.faultSinceMs = Date.now();
    if (performance.now() - returner.faultToldMs < tellAgainMs) return;
    returner.faultToldMs = performance.now();
    this.#logger.error({ returner: name, waiting, fault }, "a returner of events takes none: they wait in memory");
  }

  #noteDrops(returner: Returner, before: ReturnerState): void {
    const { name, waiting, counters } = returner.latest;
    if (counters.dropped <= before.counters.dropped || performance.now() - returner.dropsToldMs < tellAgainMs) return;
    returner.dropsToldMs = performance.now();
    this.#logger.error(
      { returner: name, waiting, dropped: returner.totals.dropped },
      "too many events wait for a returner: new ones are dropped",
    );
  }
}

const zeros: ReturnerState["counters"] = {
  ...{ written: 0, present: 0, refused: 0, dropped: 0, batches: 0, failures: 0 },
};

function statusOf({ latest, totals, lost, lastFault, faultSinceMs, rate }: Returner, nowMs: number): EventReturnStatus {
  const { name, place, waiting, waitingBytes, oldestAgeMs, fault, nextTryInMs } = latest;
  return {
    ...{ name, place, waiting, waitingBytes, fault, lastFault },
    state: fault !== undefined ? "failing" : latest.hasAnswered ? "writing" : "starting",
    lagSeconds: (oldestAgeMs ?? 0) / 1_000,
    eventsPerSecond: rate.perSecond,
    failingSeconds: fault === undefined ? 0 : (nowMs - faultSinceMs) / 1_000,
    nextTrySeconds: nextTryInMs === undefined ? undefined : nextTryInMs / 1_000,
    counters: { ...totals, lost },
  };
}
