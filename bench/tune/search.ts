/**
 * The highest rate that still meets a latency objective: bracketing, then bisection; a result too near the
 * objective to call is measured again. Pure but for `measure`.
 */

export type RateOutcome = {
  readonly p99Ms: number;
  /** Answered operations divided by planned ones. */
  readonly answeredShare: number;
  /** The load generator was the limit: the outcome does not count. */
  readonly isVoid: boolean;
};

export type SearchOptions = {
  readonly p99MsMax: number;
  /** The first rate: a share of the closed loop's throughput. */
  readonly firstRate: number;
  readonly rateMin: number;
  readonly rateMax: number;
  /** The most measurements, repeats and void ones included. */
  readonly measurementsMax: number;
};

export type RateSearch = {
  /** The highest rate that met the objective; undefined if no rate did. */
  readonly rate: number | undefined;
  readonly p99Ms: number | undefined;
  /** The lowest higher rate that did not meet it; undefined if none failed. */
  readonly failedRate: number | undefined;
  /** What limits the rate: latency, the generator (the runs above were void), or nothing within the range. */
  readonly limit: "objective" | "generator" | "range";
  /** Whether the bounds came close enough before the measurements were used up. */
  readonly isComplete: boolean;
  /** Whether the search has made all measurements that it may make. */
  readonly isUsedUp: boolean;
  readonly measurements: number;
};

/** Rates whose latency lies between these shares of the objective are measured again, because one run is not certain there. */
const marginalLow = 0.7;
const marginalHigh = 1.5;
const marginalRuns = 3;
/** Void runs of one rate after which the generator counts as the limit. */
const voidRunsMax = 2;
const bracketFactor = 1.5;
/** Bounds that are closer than this are as good as one, because repeats differ by more. */
const nearEnough = 1.08;
const answeredShareMin = 0.999;

type Verdict = "meets" | "misses" | "void";

/** @param measure throws what ends the search, such as an abort; `onFound` gets the results until then */
export async function searchHighestRate(
  options: SearchOptions,
  measure: (rate: number) => Promise<RateOutcome>,
  onFound: (found: RateSearch) => void = () => undefined,
): Promise<RateSearch> {
  const search = new Search(options, measure, onFound);
  return await search.run();
}

class Search {
  readonly #options: SearchOptions;
  readonly #measure: (rate: number) => Promise<RateOutcome>;
  readonly #onFound: (found: RateSearch) => void;
  #good: { rate: number; p99Ms: number } | undefined;
  #bad: number | undefined;
  #isVoidAbove = false;
  #measurements = 0;

  constructor(
    options: SearchOptions,
    measure: (rate: number) => Promise<RateOutcome>,
    onFound: (found: RateSearch) => void,
  ) {
    this.#options = options;
    this.#measure = measure;
    this.#onFound = onFound;
  }

  async run(): Promise<RateSearch> {
    const { firstRate, rateMin, rateMax } = this.#options;
    let rate: number | undefined = Math.min(rateMax, Math.max(rateMin, Math.round(firstRate)));
    while (rate !== undefined && this.#measurements < this.#options.measurementsMax) {
      await this.#try(rate);
      this.#onFound(this.#found(false));
      rate = this.#next();
    }
    return this.#found(rate === undefined);
  }

  async #try(rate: number): Promise<void> {
    const { verdict, p99Ms } = await this.#judge(rate);
    if (verdict === "meets") {
      this.#good = { rate, p99Ms };
      return;
    }
    // A generator that is too slow for this rate is also too slow for a higher one.
    this.#bad = rate;
    this.#isVoidAbove = verdict === "void";
  }

  /** Undefined when no rate is left to try. */
  #next(): number | undefined {
    const { rateMin, rateMax } = this.#options;
    const good = this.#good?.rate;
    if (good !== undefined && this.#bad !== undefined) {
      return this.#bad / good <= nearEnough ? undefined : Math.round(Math.sqrt(good * this.#bad));
    }
    const rate = good !== undefined ? good * bracketFactor : (this.#bad ?? rateMin) / bracketFactor;
    const next = Math.round(Math.min(rateMax, Math.max(rateMin, rate)));
    return next === good || next === this.#bad ? undefined : next;
  }

  /** Runs the rate once, and again while the median is too near the objective. */
  async #judge(rate: number): Promise<{ verdict: Verdict; p99Ms: number }> {
    const { p99MsMax, measurementsMax } = this.#options;
    const latencies: number[] = [];
    let voids = 0;
    for (;;) {
      this.#measurements += 1;
      const { p99Ms, answeredShare, isVoid } = await this.#measure(rate);
      if (isVoid) voids += 1;
      // Operations without an answer count as slower than all others.
      else latencies.push(answeredShare < answeredShareMin ? Number.POSITIVE_INFINITY : p99Ms);
      if (voids >= voidRunsMax) return { verdict: "void", p99Ms: 0 };
      const median = middle(latencies);
      const isMarginal = median >= marginalLow * p99MsMax && median <= marginalHigh * p99MsMax;
      const isCounted = latencies.length >= (isMarginal ? marginalRuns : 1);
      if (isCounted) return { verdict: median <= p99MsMax ? "meets" : "misses", p99Ms: median };
      if (this.#measurements >= measurementsMax) {
        if (latencies.length === 0) return { verdict: "void", p99Ms: 0 };
        // Still uncertain at the end: counts as not met.
        return { verdict: latencies.every((ms) => ms <= p99MsMax) ? "meets" : "misses", p99Ms: median };
      }
    }
  }

  #limit(): RateSearch["limit"] {
    if (this.#bad === undefined) return "range";
    return this.#isVoidAbove ? "generator" : "objective";
  }

  #found(isComplete: boolean): RateSearch {
    const { rate, p99Ms } = this.#good ?? {};
    const measurements = this.#measurements;
    const isUsedUp = !isComplete && measurements >= this.#options.measurementsMax;
    return { rate, p99Ms, failedRate: this.#bad, limit: this.#limit(), isComplete, isUsedUp, measurements };
  }
}

/** The lower of the two medians for an even number; NaN for an empty list. */
function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
}
