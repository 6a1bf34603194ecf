/** A plan as text: assumptions, needs with their intervals, what breaks first, and settings to copy. */
import { formatNumber } from "../report/format.ts";
import type { Calibration } from "./calibration.ts";
import type { Estimate } from "./law.ts";
import type { Laws, Resource } from "./laws.ts";
import { busyShareMax, type Plan } from "./plan.ts";
import { masterConfig, sysctls, unitSettings } from "./system.ts";

const gigabyte = 1e9;
const mebibyte = 1024 * 1024;
const bitsPerByte = 8;
const megabit = 1e6;
/** From this time on, minions that all authenticate at once give up and come again before their turn. */
const authWaitSeconds = 60;

export type PlanSource = {
  readonly calibration: Calibration;
  /** The file, and whether it is the one of the package. */
  readonly path: string;
  readonly isShipped: boolean;
};

export function planText(plan: Plan, laws: Laws, source: PlanSource): string {
  return [
    assumptions(plan),
    sourceText(laws, source),
    needsText(plan, laws),
    limitsText(plan),
    ...plan.remarks.map((remark) => `Note: ${remark}\n`),
    `# /etc/salt/master.d/size.conf\n${masterConfig(plan.needs, plan.load)}`,
    `# /etc/systemd/system/saltworks-master.service.d/size.conf\n${unitSettings(plan.needs)}`,
    `# /etc/sysctl.d/80-saltworks.conf\n${sysctls(plan.needs, plan.load)}`,
  ].join("\n");
}

function assumptions({ load, peak, mean }: Plan): string {
  const jobs = load.jobs.map(
    ({ function: name, targetShare, perDay, bytes }) =>
      `  ${name} to ${formatNumber(targetShare * 100)} % of the fleet, ${formatNumber(perDay)} times a day, returns of ${bytes} bytes`,
  );
  return [
    `A plan for ${load.minions.toLocaleString("en-US")} minions. Assumed:`,
    ...jobs,
    `  each minion a day: ${formatNumber(load.eventsPerDay)} events, ${formatNumber(load.minePutsPerDay)} updates of its mine, ${formatNumber(load.pillarsPerDay)} pillars besides one for each state job, ${formatNumber(load.authsPerDay)} authentications`,
    `  the whole fleet a day: ${formatNumber(load.mineGetsPerDay)} reads of mines; job results kept ${formatNumber(load.retentionHours)} hours`,
    `  the peak hour has ${formatNumber(load.peak)} times the day's mean: ${formatNumber(peak.returns)} returns a second (mean ${formatNumber(mean.returns)}), ${formatNumber(peak.events)} events and mine updates, ${formatNumber(peak.pillars)} pillars, ${formatNumber(peak.auths)} authentications, ${formatNumber(peak.mineGets)} mine reads`,
    `  threads and cores are busy for at most ${Math.round(busyShareMax * 100)} % in the peak hour`,
    "",
  ].join("\n");
}

function sourceText(laws: Laws, { calibration, path, isShipped }: PlanSource): string {
  const { machine, tool, startedAt } = calibration;
  const which = isShipped ? "the calibration that comes with Saltworks" : `the calibration ${path}`;
  return `From ${which}: ${laws.of.cpuUs.points} points, ${machine.cores} cores of ${machine.cpu}, Node.js ${machine.node}, commit ${tool.commit}, ${startedAt.slice(0, 10)}, load average ${formatNumber(machine.loadAverage)} at its start.\n`;
}

function needsText({ needs }: Plan, laws: Laws): string {
  const law = (resource: Resource): string =>
    `law ${resource}: ${laws.of[resource].points} points, ±${formatNumber(laws.of[resource].scatter * 100)} %`;
  const row = (name: string, value: string, how: string): string => `  ${name.padEnd(26)} ${value.padEnd(44)} ${how}\n`;
  const between = (estimate: Estimate, factor: number, unit: string): string => {
    const [value, low, high] = [estimate.value, estimate.low, estimate.high].map((each) => formatNumber(each / factor));
    return `${value} ${unit} (95 %: ${low} to ${high})`;
  };
  const rows = [
    row("cores", String(needs.cores), "one more than the workers, or the busy cores with room"),
    row("  busy in the peak hour", between(needs.busyCores, 1, "cores"), law("cpuUs")),
    row("  of it the main thread", between(needs.mainThread, 1, "cores"), law("mainUs")),
    row("  of it the workers", between(needs.workerCores, 1, "cores"), law("workerUs")),
    row("worker_threads", String(needs.workerThreads), ""),
    row("memory of the master", between(needs.memoryBytes, mebibyte, "MiB"), law("memoryBytes")),
    row(
      "memory of the machine",
      `${formatNumber(Math.ceil(needs.machineMemoryBytes / mebibyte))} MiB`,
      "twice that, and 512 MiB for the system",
    ),
    row("disk for job results", between(needs.diskBytes, gigabyte, "GB"), law("cacheBytes")),
    row("written to the disk", between(needs.writtenBytesPerDay, gigabyte, "GB a day"), law("writtenBytes")),
    row(
      "syncs in the peak hour",
      between(needs.syncsPerSecond, 1, "a second"),
      `law batch: ${laws.batch.points} points, ±${formatNumber(laws.batch.scatter * 100)} %`,
    ),
    row(
      "network to the master",
      between(needs.toMasterBytesPerSecond, megabit / bitsPerByte, "Mbit/s"),
      law("toMasterBytes"),
    ),
    row(
      "network from the master",
      between(needs.fromMasterBytesPerSecond, megabit / bitsPerByte, "Mbit/s"),
      law("fromMasterBytes"),
    ),
    row("file descriptors", needs.descriptors.toLocaleString("en-US"), "two a minion, and 1,024"),
    row("all authenticate at once", between(needs.allAuthSeconds, 1, "s"), law("cpuUs")),
  ];
  return `Needed:\n${rows.join("")}`;
}

function limitsText({ limits, load, needs }: Plan): string {
  const [first] = limits;
  const lines = limits.map(({ name, minions }) => `  at ${minions.toLocaleString("en-US")} minions: ${name}\n`);
  const thread = limits.find(({ name }) => name.startsWith("the main thread"));
  const isSlow = needs.allAuthSeconds.value > authWaitSeconds;
  const several =
    thread === undefined
      ? ""
      : `Several masters: from ${thread.minions.toLocaleString("en-US")} minions on with this load, because more cores do not help one main thread.\n`;
  const auth = isSlow
    ? `With a new master key all minions authenticate at once, which takes ${formatNumber(needs.allAuthSeconds.value)} s: more cores, or several masters, shorten it. A restart alone does not make them authenticate.\n`
    : "";
  const what =
    first === undefined
      ? ""
      : `What breaks first as the fleet grows with this load (it has ${load.minions.toLocaleString("en-US")} minions):\n`;
  return `${what}${lines.join("")}${several}${auth}`;
}
