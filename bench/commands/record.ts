/** `saltworks bench record FILE`: writes a workload file from the metrics and the job cache of a master that runs already. */
import { existsSync, writeFileSync } from "node:fs";
import type { Host } from "../../src/cli/host/host.ts";
import type { Progress } from "../../src/cli/host/progress.ts";
import type { OptionsOf } from "../../src/cli/options/parse.ts";
import { loadMasterConfig, type MasterConfig } from "../../src/config/load.ts";
import { SaltworksError } from "../../src/errors.ts";
import { acceptedKeys } from "../fleet/accepted-keys.ts";
import { demandFile } from "../results/files.ts";
import { demandMetrics, metricsUrlOf } from "../scenarios/setup/running-master.ts";
import { workloadText } from "../workload/recorded-file.ts";
import { type RecordedJobs, recordJobs } from "../workload/recorded-jobs.ts";
import { type RecordedRates, recordRates } from "../workload/recorded-rates.ts";
import { Interruption } from "./interruption.ts";
import { demandOwn } from "./own-options.ts";
import { inRange } from "./run-request.ts";
import { readRunningMaster } from "./running-request.ts";

const secondsDefault = 60;
const hoursDefault = 24;
const secondsMost = 86_400;
const hoursMost = 24 * 366;

/** @returns the exit code @throws SaltworksError USAGE, MASTER_UNREACHABLE, CONFIG_UNREADABLE, CONFIG_INVALID */
export async function recordWorkload(
  words: readonly string[],
  options: OptionsOf<"bench">,
  progress: Progress,
  host: Host,
): Promise<number> {
  const [file, ...rest] = words;
  if (file === undefined || rest.length > 0) {
    throw new SaltworksError(
      "USAGE",
      "which file? saltworks bench record FILE -c DIR (or --master HOST --metrics URL)",
    );
  }
  demandOwn("bench", options, "saltworks bench record", ["master", "configDir", "metrics", "seconds", "hours"]);
  if (existsSync(file)) throw new SaltworksError("USAGE", `${file} exists; name another file`);
  demandFile(file);
  const running = readRunningMaster(options);
  if (running === undefined)
    throw new SaltworksError("USAGE", "of which master? -c DIR, or --master HOST --metrics URL");
  const seconds = inRange("--seconds", options.seconds, 1, secondsMost) ?? secondsDefault;
  const hours = inRange("--hours", options.hours, 1, hoursMost) ?? hoursDefault;
  const config = running.configDirectory === undefined ? undefined : loadMasterConfig(running.configDirectory);
  const url = running.metricsUrl ?? metricsUrlOf(config);
  if (url === undefined && config === undefined) {
    throw new SaltworksError("USAGE", "neither the metrics (--metrics URL) nor the job cache (-c DIR) can be read");
  }
  const interruption = new Interruption(host);
  try {
    const { signal } = interruption;
    if (url !== undefined) await demandMetrics(url);
    const rates = url === undefined ? undefined : await withPhase(progress, () => recordRates(url, seconds, signal));
    const jobs = config === undefined ? undefined : await readJobs(config, hours, progress, signal);
    const accepted = config === undefined ? 0 : acceptedKeys(config.pki_dir).length;
    const minions = Math.max(1, accepted, rates?.connected ?? 0);
    const recorded = { master: running.host, at: new Date().toISOString(), minions, jobs, rates };
    writeFileSync(file, workloadText(recorded), { flag: "wx" });
    host.write(`${file}: ${told(jobs, rates, minions)}\nRun it:  saltworks bench ${file}\n`);
    return 0;
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    host.complain("saltworks bench: interrupted: nothing was written\n");
    return interruption.exitCode;
  } finally {
    interruption.end();
  }
}

async function withPhase(progress: Progress, work: () => Promise<RecordedRates>): Promise<RecordedRates> {
  const phase = progress.phase("watch the metrics");
  return await work().finally(() => phase.end());
}

async function readJobs(
  config: MasterConfig,
  hours: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<RecordedJobs> {
  const phase = progress.phase("read the job cache");
  const reading = recordJobs(config, { hours, nowMs: Date.now(), signal, onJob: () => phase.step() });
  return await reading.finally(() => phase.end());
}

function told(jobs: RecordedJobs | undefined, rates: RecordedRates | undefined, minions: number): string {
  const count = (records: RecordedJobs["own"]) =>
    [...records.values()].reduce((sum, { targets }) => sum + targets.length, 0);
  const ofJobs = jobs && `${count(jobs.published)} jobs and ${count(jobs.own)} of minions themselves`;
  const ofRates = rates && `${rates.returns.toFixed(1)} returns a second at the moment`;
  return [`${minions} minions`, ...(ofJobs ? [ofJobs] : []), ...(ofRates ? [ofRates] : [])].join(", ");
}
