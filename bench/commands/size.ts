/** `saltworks size`: plans a master for a fleet, calibrates the laws that plans are made from, and checks a plan with simulated minions. */
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import type { Host } from "../../src/cli/host/host.ts";
import type { Progress } from "../../src/cli/host/progress.ts";
import type { OptionsOf } from "../../src/cli/options/parse.ts";
import { understand } from "../../src/cli/start/command-line.ts";
import { SaltworksError } from "../../src/errors.ts";
import { formatNumber } from "../report/format.ts";
import { demandDirectory, demandFile } from "../results/files.ts";
import { calibrate } from "../size/calibrate.ts";
import { type Calibration, readCalibration, shippedCalibration } from "../size/calibration.ts";
import {
  type CheckRow,
  checkPlan,
  checkSpan,
  demandCheck,
  errorMax,
  errorText,
  isWithin,
  peakMost,
} from "../size/check.ts";
import type { Estimate } from "../size/law.ts";
import { type Laws, lawsOf } from "../size/laws.ts";
import { type FleetLoad, grown, jobsDefault, loadDefaults, readJob } from "../size/load.ts";
import { type Plan, planOf } from "../size/plan.ts";
import { planText } from "../size/plan-text.ts";
import { measureSpeed, slowdown } from "../size/speed.ts";
import { workloadYaml } from "../size/workload-file.ts";
import { Interruption } from "./interruption.ts";
import { demandOwn } from "./own-options.ts";
import { directoryOf, inRange } from "./run-request.ts";
import { textTable } from "./text-table.ts";

type SizeOptions = OptionsOf<"size">;

const minionsDefault = 1_000;
const minionsMost = 1_000_000;
const minutesDefault = 10;
const retentionHoursMost = 876_000;
const perDayMost = 1_000_000;
/** Uncertainty of a calibration that is scaled to another processor. */
const scaleError = 0.25;
/** The kernel's default of fs.nr_open, which an administrator can raise. */
const descriptorsMax = 1_048_576;
const outOfBoundExitCode = 1;

/** @returns 0; 1 if a check was not within its bound; 130 if it was interrupted */
export async function sizeCommand(argv: readonly string[], host: Host, progress: Progress): Promise<number> {
  const { options, positionals } = understand("size", argv, host);
  if (positionals.length > 0) {
    throw new SaltworksError("USAGE", `size takes no words; '${positionals.join(" ")}' is too much`);
  }
  if (options.isCalibrating) {
    demandOwn("size", options, "saltworks size --calibrate", ["isCalibrating", "minutes", "outputDirectory"]);
    return await runCalibration(options, host, progress);
  }
  if (options.minutes !== undefined || options.outputDirectory !== undefined) {
    const name = options.minutes === undefined ? "--output" : "--minutes";
    throw new SaltworksError("USAGE", `${name} goes with --calibrate`);
  }
  const load = readLoad(options);
  if (options.workloadFile !== undefined) demandFile(options.workloadFile);
  const path = options.calibrationFile ?? shippedCalibration;
  const calibration = readCalibration(path);
  const laws = lawsOf(calibration);
  const scale = scaleOf(calibration);
  const machine = { cores: availableParallelism(), memoryBytes: totalmem(), descriptorsMax };
  const plan = planOf({ laws, scale, ...machine }, load);
  const isShipped = options.calibrationFile === undefined;
  if (options.isChecking) demandCheck(plan.load, plan.peak);
  const workload = options.workloadFile === undefined ? "" : workloadYaml(plan.load, plan.peak);
  if (options.isJson) host.write(`${JSON.stringify(jsonOf(plan, laws, calibration))}\n`);
  else host.write(planText(plan, laws, { calibration, path, isShipped }));
  if (options.workloadFile !== undefined) {
    writeFileSync(options.workloadFile, workload);
    host.complain(`Workload: ${options.workloadFile}\n`);
  }
  return options.isChecking ? await runCheck({ plan, laws, scale, workers: calibration.workers }, host, progress) : 0;
}

/** How much slower this machine is, if it is not the calibration's. */
function scaleOf({ machine, speed }: Calibration): Estimate {
  if (machine.cpu === (cpus()[0]?.model.trim() ?? "unknown")) return { value: 1, low: 1, high: 1 };
  const value = slowdown(measureSpeed(), speed);
  return { value, low: value * (1 - scaleError), high: value * (1 + scaleError) };
}

function jsonOf(plan: Plan, laws: Laws, { machine, tool, startedAt }: Calibration) {
  const of = Object.fromEntries(
    Object.entries(laws.of).map(([name, { coefficients, points, scatter }]) => [
      name,
      { coefficients, points, scatter },
    ]),
  );
  return { ...plan, laws: { ...of, batch: laws.batch }, calibration: { machine, tool, startedAt } };
}

/** @throws SaltworksError USAGE */
function readLoad(options: SizeOptions): FleetLoad {
  const perDay = (option: string, text: string | undefined, byDefault: number): number =>
    text === undefined ? byDefault : readNumber(option, text, 0, perDayMost);
  const load: FleetLoad = {
    minions: inRange("--minions", options.minions, 1, minionsMost) ?? minionsDefault,
    jobs: options.jobs === undefined ? jobsDefault : options.jobs.map(readJob),
    retentionHours:
      inRange("--retention-hours", options.retentionHours, 1, retentionHoursMost) ?? loadDefaults.retentionHours,
    pillarsPerDay: perDay("--pillars-a-day", options.pillarsPerDay, loadDefaults.pillarsPerDay),
    eventsPerDay: perDay("--events-a-day", options.eventsPerDay, loadDefaults.eventsPerDay),
    minePutsPerDay: perDay("--mine-puts-a-day", options.minePutsPerDay, loadDefaults.minePutsPerDay),
    mineGetsPerDay: perDay("--mine-gets-a-day", options.mineGetsPerDay, loadDefaults.mineGetsPerDay),
    authsPerDay: perDay("--auths-a-day", options.authsPerDay, loadDefaults.authsPerDay),
    pillarMs: options.pillarMs === undefined ? undefined : readNumber("--pillar-ms", options.pillarMs, 0, 600_000),
    peak: options.peak === undefined ? loadDefaults.peak : readNumber("--peak", options.peak, 1, peakMost),
  };
  const percent = options.growth === undefined ? 0 : readNumber("--growth", options.growth.replace(/%$/, ""), 0, 1_000);
  const years = inRange("--years", options.years, 0, 20) ?? (percent > 0 ? 1 : 0);
  return years === 0 ? load : grown(load, percent / 100, years);
}

function readNumber(option: string, text: string, min: number, max: number): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(value) && value >= min && value <= max) return value;
  throw new SaltworksError(
    "USAGE",
    `${option} takes a number from ${min} to ${max.toLocaleString("en-US")}, not '${text}'`,
  );
}

async function runCalibration(options: SizeOptions, host: Host, progress: Progress): Promise<number> {
  const minutes = inRange("--minutes", options.minutes, 1, 120) ?? minutesDefault;
  const directory = directoryOf(options);
  demandDirectory(directory);
  const time = new Date()
    .toISOString()
    .replaceAll(/[-:]/g, "")
    .replace(/\.\d+Z$/, "Z");
  const path = join(directory, `calibration-${time}.json`);
  const interruption = new Interruption(host);
  let runsWhole = 0;
  try {
    const onRun = (calibration: Calibration): void => {
      writeFileSync(path, `${JSON.stringify(calibration)}\n`);
      runsWhole = calibration.runs.length;
    };
    const { runs } = await calibrate({ minutes, progress, signal: interruption.signal, onRun });
    const voids = runs.filter(({ point }) => point.generator.isVoid).length;
    if (voids > 0)
      host.complain(`${voids} of ${runs.length} runs were disturbed: CPU time holds, rates are less sure\n`);
    host.write(`Calibration: ${path}\nPlan:        saltworks size --calibration ${path} --minions 20000\n`);
    return 0;
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    const left =
      runsWhole === 0 ? "before a run was whole: nothing was written" : `${path} has the runs that were whole`;
    host.complain(`saltworks size: interrupted${runsWhole === 0 ? " " : "; "}${left}\n`);
    return interruption.exitCode;
  } finally {
    interruption.end();
  }
}

async function runCheck(
  { plan, laws, scale, workers }: { plan: Plan; laws: Laws; scale: Estimate; workers: number },
  host: Host,
  progress: Progress,
): Promise<number> {
  const interruption = new Interruption(host);
  try {
    const { load, peak } = plan;
    const { seconds } = checkSpan(load, peak);
    host.complain(`The check sends the peak for ${formatNumber(Math.ceil(seconds))} seconds.\n`);
    const own = { laws, load, peak, workers, scale: scale.value, progress, signal: interruption.signal };
    const { rows, point } = await checkPlan(own);
    host.write(
      `\nThe peak hour of the plan, run here with ${load.minions.toLocaleString("en-US")} simulated minions:\n`,
    );
    host.write(checkText(rows));
    const { isVoid, voidReasons } = point.generator;
    if (isVoid) host.complain(`Latencies of this run mean nothing: ${voidReasons.join("; ")}\n`);
    if (point.correctness.missing > 0) host.complain(`${point.correctness.missing} answers are missing\n`);
    const isGood = isWithin(rows) && point.correctness.missing === 0;
    host.write(isGood ? `Each is within ${errorMax * 100} %.\n` : `Not each is within ${errorMax * 100} %.\n`);
    return isGood ? 0 : outOfBoundExitCode;
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    return interruption.exitCode;
  } finally {
    interruption.end();
  }
}

function checkText(rows: readonly CheckRow[]): string {
  return textTable(
    ["", "predicted", "measured", "error"],
    rows.map(({ name, predicted, measured, error }) => [
      name,
      formatNumber(predicted),
      formatNumber(measured),
      errorText(error),
    ]),
  );
}
