/** Runner function `jobs.migrate`: copies all jobs of one job cache into another. The master does it, and this function follows it. */
import { setTimeout as pause } from "node:timers/promises";
import { checkMigrationNames } from "../../databases/migration/open.ts";
import { SaltworksError } from "../../errors.ts";
import { type Encodable, floatItem, type ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import { meter } from "../contract/caller-events.ts";
import type { MigrationStatus, RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

/** How often the function looks how far the migration is. */
const lookEveryMs = 500;
/** The exit code of a migration that has left something out. */
const incompleteCode = 1;

async function migrate(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const master = masterOf(context);
  const names = checkMigrationNames(context.config, { from: textArgument(args, "from"), to: textArgument(args, "to") });
  await master.migrate(names);
  for (;;) {
    const status = await master.migration();
    if (status === undefined || status.state === "failed") throw stopped(status);
    const { progress } = status;
    if (status.state === "done") return summary(context, status);
    await meter(context, { done: progress?.counts.passed ?? 0, total: progress?.total ?? 0, unit: "jobs" });
    await pause(lookEveryMs);
  }
}

/** With a `retcode`, which salt-run and our command end with, if the target does not have all that the source has. */
function summary({ note }: RunnerContext, status: MigrationStatus): Encodable {
  const rows = shownMigration(status);
  const skipped = status.progress?.counts.leftOut ?? 0;
  if (skipped === 0) return new Map(rows);
  note?.(`The copy is not complete: ${skipped} skipped. Skipped-first names the first, the master's log all of them.`);
  return new Map<string, Encodable>([...rows, ["retcode", incompleteCode]]);
}

function stopped(status: MigrationStatus | undefined): SaltworksError {
  const passed = status?.progress?.counts.passed ?? 0;
  const text = `it stopped after ${passed} jobs, and the same command goes on from there: ${status?.fault ?? "unknown"}`;
  return new SaltworksError("FUNCTION_FAILED", text);
}

/** The rows of a summary, also for `jobs.cache_status`. */
export function shownMigration({ from, to, state, progress, fault }: MigrationStatus): [string, Encodable][] {
  const { counts, named = [], spentMs = 0, total } = progress ?? {};
  const { passed = 0, jobs = 0, returns = 0, present = 0, leftOut = 0 } = counts ?? {};
  const seconds = Math.max(spentMs, 1) / 1_000;
  return [
    ["From", from],
    ["To", to],
    ["State", state],
    ["Resumed", progress?.isResumed ?? false],
    ["Jobs-read", passed],
    ...(state !== "running" || total === undefined ? [] : [["Jobs-of-about", total] as [string, Encodable]]),
    ["Jobs-written", jobs],
    ["Returns-written", returns],
    ["Already-there", present],
    ["Skipped", leftOut],
    ...(named.length === 0 ? [] : [["Skipped-first", [...named]] as [string, Encodable]]),
    ["Seconds", floatItem(Math.round(seconds * 10) / 10)],
    ["Rows-per-second", Math.round((jobs + returns + present) / seconds)],
    ...(fault === undefined ? [] : [["Last-failure", fault] as [string, Encodable]]),
  ];
}

export const jobsMigrate: readonly (readonly [string, RunnerFunction])[] = [
  [
    "jobs.migrate",
    {
      parameters: parametersOf("from!", "to!"),
      doc: "Copies all jobs and returns of one job cache into another, each once: from=local_cache to=mysql. The names are those of master_job_cache. What is there stays as it is. What cannot be read or written is skipped and named, and the command then ends with 1. The master goes on when the command is interrupted; after a restart of the master the same command goes on where it stopped.",
      run: migrate,
    },
  ],
];
