/** Remarks that an operator needs to judge the tuner's settings: other load on the machine, void runs, missing returns. Pure. */
import { formatNumber } from "../report/format.ts";
import { voidCauseText } from "../report/runs.ts";
import { isDecided, percent } from "./choose.ts";
import type { Known, TunePlan } from "./tuner.ts";

/** The generator's share of all CPU time of a run. Above it, the generator uses cores that workers could use. */
const generatorShareNotable = 0.15;

const loadsText =
  "A storm of returns decides these settings, and a light load decides batch_linger_us. A working day has returns of all sizes and other requests beside them: `saltworks bench mixed-day` measures it.";

/** Circumstances of a tuning. */
export type Tuning = {
  /** The share of the machine's CPU time that other programs took before it began, and the most that is not worth a remark. */
  readonly otherShare: number;
  readonly otherShareMax: number;
  /** Why it ended before its last step; undefined if it did not. */
  readonly endedEarly: string | undefined;
};

export function remarksOn(
  { points, choices, search }: Known,
  plan: TunePlan,
  { otherShare, otherShareMax, endedEarly }: Tuning,
): string[] {
  const counted = points.filter(({ generator }) => !generator.isVoid);
  const remarks: string[] = [loadsText];
  if (endedEarly !== undefined)
    remarks.push(`Ended early, after ${points.length} run${points.length === 1 ? "" : "s"}: ${endedEarly}.`);
  const shares = counted
    .map(
      ({ cpu, figures }) =>
        (figures.generatorCpuUsPerReturn ?? 0) / ((figures.generatorCpuUsPerReturn ?? 0) + cpu.usPerOperation),
    )
    .filter((share) => Number.isFinite(share))
    .sort((a, b) => a - b);
  const share = shares[Math.floor(shares.length / 2)] ?? 0;
  if (share > generatorShareNotable) {
    remarks.push(
      `The load generator shared the ${plan.cores} cores and took ${formatNumber(Math.round(share * 100))} % of the CPU time used: with minions elsewhere the master has that too, so more workers may help than here.`,
    );
  }
  if (otherShare > otherShareMax) {
    remarks.push(
      `The machine was busy when the tuner began: other programs took ${percent(otherShare)} of its CPU time. Run it on a quiet one.`,
    );
  }
  const voids = points.length - counted.length;
  if (voids > 0)
    remarks.push(`${voids} of ${points.length} runs were void (${voidCauseText(points)}) and do not count.`);
  const missing = points.reduce((sum, { correctness }) => sum + correctness.missing, 0);
  if (missing > 0)
    remarks.push(
      `${missing} returns are missing from the master's store: do not use these settings before that is explained.`,
    );
  if (plan.isQuick) remarks.push("A quick run: few values, short spans; run it without --quick before you rely on it.");
  const open = [
    "worker_threads",
    ...plan.knobs
      .filter(({ values, quickValues }) => (plan.isQuick ? quickValues : values).length > 0)
      .map(({ name }) => name),
  ].filter((name) => ![...choices.keys()].some((chosen) => chosen === name));
  const unsure = [...choices].filter(([, choice]) => !isDecided(choice)).map(([name]) => name);
  if (unsure.length > 0) remarks.push(`The repeats differ too much to decide: ${unsure.join(", ")}.`);
  if (open.length > 0) remarks.push(`Not decided: ${open.join(", ")}.`);
  else if (search === undefined) remarks.push("The highest rate was not looked for.");
  remarks.push(`To be surer: ${surerCommand(plan)}, on a machine with nothing else to do.`);
  return remarks;
}

const surerRepeats = 3;

/** A quick run is followed by a whole one, and that by one with more repeats. */
function surerCommand({ isQuick, repeats }: TunePlan): string {
  return isQuick ? "saltworks tune" : `saltworks tune --repeats ${repeats * surerRepeats}`;
}
