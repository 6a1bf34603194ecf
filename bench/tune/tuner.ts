/** The tuner's steps: workers, then each other setting with those chosen so far, then the highest rate. Reports its results after every run. */
import type { Progress } from "../../src/cli/host/progress.ts";
import type { OperationResult, Point } from "../results/schema.ts";
import { type Choice, chooseByThroughput, chooseLinger, chooseWorkers, type Sample } from "./choose.ts";
import { type RateSearch, searchHighestRate } from "./search.ts";
import { defaultOf, type Knob, type SettingName, type Settings } from "./settings.ts";

export type TunePlan = {
  readonly workerCounts: readonly number[];
  readonly knobs: readonly Knob[];
  readonly isQuick: boolean;
  readonly repeats: number;
  readonly p99MsMax: number;
  readonly cores: number;
  /** Options of the search for the highest rate. */
  readonly measurementsMax: number;
};

/** One run of the scenario. */
export type Measurement = {
  readonly label: string;
  readonly step: string;
  readonly settings: Settings;
  /** Undefined for a closed loop. */
  readonly rate: number | undefined;
  /** From 1. The repeat of a void run gets the next number. */
  readonly repeat: number;
};

export type Known = {
  readonly points: readonly Point[];
  readonly choices: ReadonlyMap<SettingName, Choice>;
  readonly search: RateSearch | undefined;
};

/** Shares of the closed loop's throughput: for the search's first rate, and for a light load. */
const firstRateShare = 0.6;
const lightRateShare = 0.3;
const rateMin = 10;
/** The highest rate of the search, far above the closed loop's throughput. */
const rateMaxShare = 4;
/** Tries of a void run, as something else may have used the machine. */
const voidRetries = 1;

export class Tuner {
  readonly #plan: TunePlan;
  readonly #measure: (measurement: Measurement) => Promise<Point>;
  readonly #progress: Progress;
  readonly #onKnown: (known: Known) => void;
  readonly #points: Point[] = [];
  readonly #choices = new Map<SettingName, Choice>();
  #search: RateSearch | undefined;
  /** The highest throughput of a closed loop so far. */
  #perSecondMax = 0;

  /** `measure` throws what ends the tuning, such as an abort; `onKnown` is called after every run. */
  constructor(
    plan: TunePlan,
    around: {
      readonly measure: (measurement: Measurement) => Promise<Point>;
      readonly progress: Progress;
      readonly onKnown: (known: Known) => void;
    },
  ) {
    this.#plan = plan;
    this.#measure = around.measure;
    this.#progress = around.progress;
    this.#onKnown = around.onKnown;
  }

  async run(): Promise<Known> {
    const { workerCounts, knobs, cores } = this.#plan;
    this.#decide("worker_threads", await this.#sweep("worker_threads", workerCounts, undefined), (samples) =>
      chooseWorkers(samples, cores),
    );
    // Without a valid run, neither a light load nor a first rate is known.
    if (this.#perSecondMax > 0) {
      for (const knob of knobs) await this.#turn(knob);
      await this.#findRate();
    }
    return this.#known();
  }

  async #turn({ name, load, values, quickValues }: Knob): Promise<void> {
    const { isQuick, p99MsMax } = this.#plan;
    const others = isQuick ? quickValues : values;
    if (others.length === 0) return;
    const byDefault = defaultOf(name);
    const rate = load === "light" ? Math.max(rateMin, Math.round(this.#perSecondMax * lightRateShare)) : undefined;
    const candidates = [...new Set([byDefault, ...others])].sort((a, b) => a - b);
    const samples = await this.#sweep(name, candidates, rate);
    this.#decide(name, samples, (all) =>
      load === "light" ? chooseLinger(all, byDefault, p99MsMax) : chooseByThroughput(name, all, byDefault),
    );
  }

  #decide(
    name: SettingName,
    samples: readonly Sample[],
    choose: (samples: readonly Sample[]) => Choice | undefined,
  ): void {
    const choice = choose(samples);
    if (choice !== undefined) this.#choices.set(name, choice);
    this.#onKnown(this.#known());
  }

  /** Up in the first round, down in the second, so that a drift of the machine affects all values alike. */
  async #sweep(name: SettingName, values: readonly number[], rate: number | undefined): Promise<Sample[]> {
    const samples: Sample[] = [];
    const phase = this.#progress.phase(name, values.length * this.#plan.repeats);
    try {
      for (let repeat = 1; repeat <= this.#plan.repeats; repeat += 1) {
        for (const value of repeat % 2 === 1 ? values : values.toReversed()) {
          const step = name === "worker_threads" ? "workers" : name;
          const label = name === "worker_threads" ? `${value} worker${value === 1 ? "" : "s"}` : `${name} ${value}`;
          const settings = { ...this.#chosen(), [name]: value };
          const point = await this.#counted({ label, step, settings, rate, repeat });
          phase.step();
          if (point === undefined) continue;
          samples.push(sampleOf(value, point));
          if (rate === undefined) this.#perSecondMax = Math.max(this.#perSecondMax, returnsOf(point).perSecond);
        }
      }
    } finally {
      phase.end();
    }
    return samples;
  }

  async #findRate(): Promise<void> {
    const { p99MsMax, measurementsMax } = this.#plan;
    const phase = this.#progress.phase("highest rate", measurementsMax);
    const runs = new Map<number, number>();
    try {
      this.#search = await searchHighestRate(
        {
          p99MsMax,
          firstRate: this.#perSecondMax * firstRateShare,
          rateMin,
          rateMax: Math.round(this.#perSecondMax * rateMaxShare),
          measurementsMax,
        },
        async (rate) => {
          const repeat = (runs.get(rate) ?? 0) + 1;
          runs.set(rate, repeat);
          const label = `${rate} returns/s`;
          const point = await this.#run({ label, step: "rate", settings: this.#chosen(), rate, repeat });
          phase.step();
          const { completed, planned, percentilesUs } = returnsOf(point);
          const { isVoid } = point.generator;
          return { p99Ms: percentilesUs.p99 / 1_000, answeredShare: completed / Math.max(1, planned), isVoid };
        },
        (found) => {
          this.#search = found;
          this.#onKnown(this.#known());
        },
      );
    } finally {
      phase.end();
    }
  }

  /** @returns undefined if the generator was the limit each time */
  async #counted(measurement: Measurement): Promise<Point | undefined> {
    for (let retry = 0; retry <= voidRetries; retry += 1) {
      const point = await this.#run({ ...measurement, repeat: measurement.repeat + retry * this.#plan.repeats });
      if (!point.generator.isVoid) return point;
    }
    return undefined;
  }

  async #run(measurement: Measurement): Promise<Point> {
    const point = await this.#measure(measurement);
    this.#points.push(point);
    this.#onKnown(this.#known());
    return point;
  }

  #chosen(): Settings {
    return Object.fromEntries([...this.#choices].map(([name, { value }]) => [name, value]));
  }

  #known(): Known {
    return { points: [...this.#points], choices: new Map(this.#choices), search: this.#search };
  }
}

/** The storm's one class of operation. */
function returnsOf({ operations }: Point): OperationResult {
  const [returns] = Object.values(operations);
  if (returns === undefined) throw new Error("a storm without operations");
  return returns;
}

function sampleOf(value: number, point: Point): Sample {
  const { perSecond, percentilesUs } = returnsOf(point);
  return { value, perSecond, cpuUs: point.cpu.usPerOperation, p99Ms: percentilesUs.p99 / 1_000 };
}
