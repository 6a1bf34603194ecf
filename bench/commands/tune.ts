/** `saltworks tune`: finds settings for this machine, prints them as a `master.d` file, and keeps every run in a result. */
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { Host } from "../../src/cli/host/host.ts";
import type { Progress } from "../../src/cli/host/progress.ts";
import type { OptionsOf } from "../../src/cli/options/parse.ts";
import { understand } from "../../src/cli/start/command-line.ts";
import { masterOptions } from "../../src/config/schema.ts";
import { SaltworksError } from "../../src/errors.ts";
import { otherShareMax } from "../machine-load.ts";
import { voidCauseText } from "../report/runs.ts";
import { demandDirectory, demandFile, readResult, writeResult } from "../results/files.ts";
import type { ParameterValues, RunResult } from "../results/schema.ts";
import { remarksOn } from "../tune/remarks.ts";
import { knobs, workerCounts } from "../tune/settings.ts";
import { searchText, snippetText } from "../tune/snippet.ts";
import { type Known, type TunePlan, Tuner } from "../tune/tuner.ts";
import { lookAtMachine } from "./busy-machine.ts";
import { Interruption } from "./interruption.ts";
import { voidExitCode } from "./run.ts";
import { directoryOf, findScenario, inRange, readLoad } from "./run-request.ts";
import { emptyTuneResult, StormMeasurer, tuneParameters } from "./tune-runs.ts";

type TuneOptions = OptionsOf<"tune">;

const p99MsDefault = 50;
const p99MsLargest = 600_000;
const repeatsMax = 100;
const repeatsDefault = 2;
const measurementsMax = { quick: 8, whole: 24 } as const;
/** More workers than twice the cores never helped in our measurements. A curve needs four points. */
const workersPerCore = 2;
const workersLeast = 4;

/** The exit code of sysexits for what may work later: the machine is busy. */
const busyExitCode = 75;
const msPerMinute = 60_000;
const minutesLargest = 7 * 1_440;

/** @returns 0; 2 if the load generator was the limit in every run; 75 on a busy machine; 130 if it was interrupted */
export async function tuneCommand(argv: readonly string[], host: Host, progress: Progress): Promise<number> {
  const { options, positionals } = understand("tune", argv, host);
  if (positionals.length > 0)
    throw new SaltworksError("USAGE", `tune takes no words; '${positionals.join(" ")}' is too much`);
  const plan = readPlan(options);
  const minutesMax = inRange("--minutes", options.minutesMax, 1, minutesLargest);
  const parameters = tuneParameters(readLoad(findScenario("return-storm"), options), plan.isQuick);
  const empty = emptyTuneResult(parameters, { p99Ms: plan.p99MsMax, isQuick: plan.isQuick, repeats: plan.repeats });
  const earlier = options.resumeFile === undefined ? [] : earlierPoints(options.resumeFile, empty);
  if (options.writeFile !== undefined) demandFile(options.writeFile);
  const { otherShare, isRefused } = await lookAtMachine(host, options.isBusyAllowed);
  if (isRefused) return busyExitCode;
  const directory = directoryOf(options);
  demandDirectory(directory);
  const interruption = new Interruption(host);
  const deadline = minutesMax === undefined ? undefined : AbortSignal.timeout(minutesMax * msPerMinute);
  const signal = deadline === undefined ? interruption.signal : AbortSignal.any([interruption.signal, deadline]);
  const measurer = new StormMeasurer({ parameters, progress, signal, earlier });
  const record = new TuneRecord(empty, plan, directory, otherShare);
  try {
    const tuner = new Tuner(plan, {
      measure: (measurement) => measurer.measure(measurement),
      progress,
      onKnown: (known) => record.keep(known, measurer.settings),
    });
    await tuner.run();
  } catch (error) {
    const why = interruption.signal.aborted
      ? "Ctrl-C or another signal"
      : deadline?.aborted === true
        ? `the time of --minutes ${minutesMax} is over`
        : undefined;
    record.endEarly(
      why ?? `a run failed (${error instanceof Error ? error.message.split("\n")[0] : String(error)})`,
      host,
    );
    if (why === undefined) throw error;
  } finally {
    interruption.end();
  }
  const { result, path } = record;
  show(result, path, options, host);
  if (interruption.signal.aborted) return interruption.exitCode;
  if (result.points.some(({ generator }) => !generator.isVoid)) return 0;
  if (result.points.length > 0) host.complain(`saltworks tune: every run was void: ${voidCauseText(result.points)}\n`);
  return voidExitCode;
}

/** The result of a tuning so far. Written after every run, so that a later tuning can continue from it, however this process ends. */
class TuneRecord {
  readonly #empty: RunResult;
  readonly #plan: TunePlan;
  readonly #directory: string;
  readonly #otherShare: number;
  #known: Known | undefined;
  #settings: Record<string, unknown> | undefined;
  result: RunResult;
  /** Undefined before the first run. */
  path: string | undefined;

  constructor(empty: RunResult, plan: TunePlan, directory: string, otherShare: number) {
    this.#empty = empty;
    this.#plan = plan;
    this.#directory = directory;
    this.#otherShare = otherShare;
    this.result = empty;
  }

  /** `settings`: of the masters, as far as the tuner does not change them. */
  keep(known: Known, settings?: Record<string, unknown>, endedEarly?: string): void {
    this.#known = known;
    this.#settings = settings ?? this.#settings;
    const remarks = remarksOn(known, this.#plan, { otherShare: this.#otherShare, otherShareMax, endedEarly });
    const master = { ...this.#empty.master, ...(this.#settings && { settings: this.#settings }) };
    this.result = withAdvice({ ...this.#empty, master }, known, this.#plan, remarks);
    if (known.points.length > 0) this.path = writeResult(this.#directory, this.result);
  }

  /** Says why in the result and on standard error. */
  endEarly(why: string, host: Host): void {
    const known = this.#known ?? { points: [], choices: new Map(), search: undefined };
    this.keep(known, undefined, why);
    const runs = `${known.points.length} run${known.points.length === 1 ? "" : "s"}`;
    host.complain(`saltworks tune: ended early, after ${runs}: ${why}\n`);
    if (this.path !== undefined) host.complain(resumeText(this.path));
  }
}

/** @throws SaltworksError USAGE */
function readPlan(options: TuneOptions): TunePlan {
  const cores = availableParallelism();
  const workersMost = masterOptions.worker_threads.max ?? 1;
  const workersMax = inRange("--workers-max", options.workersMax, 1, workersMost);
  const isQuick = options.isQuick;
  return {
    workerCounts: workerCounts(workersMax ?? Math.max(workersLeast, workersPerCore * cores), isQuick),
    knobs,
    isQuick,
    repeats: inRange("--repeats", options.repeats, 1, repeatsMax) ?? (isQuick ? 1 : repeatsDefault),
    p99MsMax: inRange("--p99-ms", options.p99Ms, 1, p99MsLargest) ?? p99MsDefault,
    cores,
    measurementsMax: isQuick ? measurementsMax.quick : measurementsMax.whole,
  };
}

/** @throws SaltworksError USAGE if that run had another load or another machine */
function earlierPoints(path: string, now: RunResult): RunResult["points"] {
  const earlier = readResult(path);
  const differences: string[] = [];
  if (earlier.scenario.name !== now.scenario.name || earlier.scenario.version !== now.scenario.version) {
    differences.push(`it is of ${earlier.scenario.name} version ${earlier.scenario.version}`);
  }
  for (const key of ["cpu", "cores", "node"] as const) {
    if (earlier.machine[key] !== now.machine[key]) differences.push(`its machine's ${key} is ${earlier.machine[key]}`);
  }
  for (const [key, value] of Object.entries(now.scenario.parameters)) {
    // Another number of repeats, or another objective, can use the same runs.
    if (key === "repeats" || key === "p99Ms" || key === "isQuick") continue;
    const was = (earlier.scenario.parameters as ParameterValues)[key];
    if (was !== value) differences.push(`its ${key} is ${was ?? "not given"}, not ${value}`);
  }
  if (differences.length === 0) return earlier.points;
  throw new SaltworksError("USAGE", `cannot go on with ${path}: ${differences.join("; ")}`);
}

function withAdvice(empty: RunResult, known: Known, plan: TunePlan, remarks: readonly string[]): RunResult {
  const { points, choices, search } = known;
  const masterConfig =
    choices.size === 0 ? "" : snippetText(empty, { choices, search, p99MsMax: plan.p99MsMax, remarks });
  const found = search === undefined ? [] : [searchText(search, plan.p99MsMax)];
  return { ...empty, points: [...points], advice: { masterConfig, remarks: [...found, ...remarks] } };
}

function resumeText(path: string): string {
  return `What was measured is kept: the same command with --resume ${path} goes on from there.\n`;
}

function show(result: RunResult, path: string | undefined, options: TuneOptions, host: Host): void {
  const text = result.advice?.masterConfig ?? "";
  if (options.isJson) host.write(`${JSON.stringify(result)}\n`);
  else if (text === "") host.write("Nothing was measured that could be counted: no settings to propose.\n");
  else host.write(text);
  if (options.writeFile !== undefined && text !== "") {
    writeFileSync(options.writeFile, text);
    host.complain(`Written to ${options.writeFile}; it takes effect when the master is started again.\n`);
  }
  // On standard error, because the settings on standard output may be piped to a file.
  if (path !== undefined) host.complain(`Result: ${path}\nPlots:  saltworks bench report ${path}\n`);
}
