/** The scheduled jobs that every minion of Salt has: updating its mine and refreshing its grains. */
import type { MinionConfig } from "../config/schema.ts";
import type { Value } from "../wire/values.ts";
import { isEnabled } from "./modules/registry.ts";
import type { Scheduler } from "./schedule/scheduler.ts";

const mineJob = "__mine_interval";
const grainsJob = "__update_grains";

type Config = Pick<
  MinionConfig,
  | "mine_enabled"
  | "mine_interval"
  | "mine_return_job"
  | "grains_refresh_every"
  | "disable_modules"
  | "whitelist_modules"
>;

export function addDefaultJobs(scheduler: Scheduler, config: Config): void {
  if (config.mine_enabled && isEnabled("mine", config)) {
    const spec = new Map<Value, Value>([
      ["function", "mine.update"],
      ["minutes", config.mine_interval],
      ["jid_include", true],
      ["maxrunning", 2],
      ["run_on_start", true],
      ["return_job", config.mine_return_job],
    ]);
    scheduler.addJob(mineJob, spec, true);
  } else scheduler.deleteJob(mineJob, true);
  if (config.grains_refresh_every === 0 || scheduler.hasOwnJob(grainsJob)) return;
  const spec = new Map<Value, Value>([
    ["function", "event.fire"],
    ["args", [new Map(), "grains_refresh"]],
    ["minutes", config.grains_refresh_every],
  ]);
  scheduler.addJob(grainsJob, spec, false);
}
