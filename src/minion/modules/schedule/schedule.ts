/** Execution module `schedule`: the minion's scheduler, as operators see and change it. Source: Salt 3007's `schedule`, docs/functions.md. */

import { strOf } from "../../../python/repr.ts";
import { standardFormat } from "../../../python/strftime.ts";
import { isTrue } from "../../../python/values.ts";
import { yamlFileText } from "../../../python/yaml-writer.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, ownKeywords, signature } from "../declare/signature.ts";
import { listSchedule, savedSchedule } from "./ask.ts";
import { add, build, modify, purge, remove } from "./change.ts";
import { copy, move } from "./peers.ts";
import { disabling, enabling, reload, save, switchAll, switchJob } from "./switch.ts";
import { jobStatus, postpone, runJob, showNextFireTime, skip } from "./times.ts";

const ofJob = () => signature("name, **kwargs");

const changes: ModuleFunctions = {
  "schedule.build_schedule_item": {
    ...ofJob(),
    doc: describe(
      "The job that `schedule.add` would add with these arguments.",
      "schedule.build_schedule_item job1 function='test.ping' seconds=3600",
    ),
    run: (_, args) => build(args),
  },
  "schedule.add": {
    ...ofJob(),
    doc: describe(
      "Adds a job: a function, its arguments as `job_args` and `job_kwargs`, and a timer (`seconds`, `minutes`, `hours`, `days`, `when`, `once`, `cron`).",
      "schedule.add job1 function='test.ping' seconds=3600",
      "schedule.add job2 function='cmd.run' job_args=\"['date >> /tmp/date.log']\" cron='*/15 * * * *'",
      "schedule.add job1 function='test.ping' seconds=3600 offline=True",
    ),
    run: add,
  },
  "schedule.modify": {
    ...ofJob(),
    doc: describe(
      "Replaces a job with another of the same name.",
      "schedule.modify job1 function='test.ping' seconds=3600",
    ),
    run: modify,
  },
  "schedule.delete": {
    ...ofJob(),
    doc: describe("Deletes a job.", "schedule.delete job1"),
    run: remove,
  },
  "schedule.purge": {
    ...signature("**kwargs"),
    doc: describe("Deletes all jobs but the minion's built-in ones.", "schedule.purge"),
    run: purge,
  },
  "schedule.copy": {
    ...signature("name, target, **kwargs"),
    doc: describe("Adds a job of this minion to other minions.", "schedule.copy jobname target"),
    run: copy,
  },
  "schedule.move": {
    ...signature("name, target, **kwargs"),
    doc: describe("Adds a job to other minions and deletes it here.", "schedule.move jobname target"),
    run: move,
  },
};

const switches: ModuleFunctions = {
  "schedule.enable_job": {
    ...ofJob(),
    doc: describe("Enables a job.", "schedule.enable_job job1"),
    run: (context, args) => switchJob(context, args, enabling),
  },
  "schedule.disable_job": {
    ...ofJob(),
    doc: describe("Disables a job: it stays in the schedule, but does not run.", "schedule.disable_job job1"),
    run: (context, args) => switchJob(context, args, disabling),
  },
  "schedule.enable": {
    ...signature("**kwargs"),
    doc: describe("Enables the schedule.", "schedule.enable"),
    run: (context, args) => switchAll(context, args, enabling),
  },
  "schedule.disable": {
    ...signature("**kwargs"),
    doc: describe("Disables the schedule: no job runs by itself.", "schedule.disable"),
    run: (context, args) => switchAll(context, args, disabling),
  },
  "schedule.save": {
    ...signature("**kwargs"),
    doc: describe("Writes all jobs but the pillar's to the minion's configuration.", "schedule.save"),
    run: (context, args) => save(context, ownKeywords(args)),
  },
  "schedule.reload": {
    ...signature(""),
    pythonName: "reload_",
    doc: describe("Takes jobs from the pillar and from `minion.d/schedule.conf`.", "schedule.reload"),
    run: reload,
  },
};

const times: ModuleFunctions = {
  "schedule.run_job": {
    ...signature("name, force=False"),
    doc: describe(
      "Runs a job now; with `force` also a disabled one.",
      "schedule.run_job job1",
      "schedule.run_job job1 force=True",
    ),
    run: runJob,
  },
  "schedule.postpone_job": {
    ...signature("name, current_time, new_time, **kwargs"),
    doc: describe(
      "Moves one run of a job to another time.",
      "schedule.postpone_job job current_time new_time",
      "schedule.postpone_job job current_time new_time time_fmt='%Y-%m-%dT%H:%M:%S'",
    ),
    run: postpone,
  },
  "schedule.skip_job": {
    ...signature("name, current_time, **kwargs"),
    doc: describe("Skips one run of a job.", "schedule.skip_job job time"),
    run: skip,
  },
  "schedule.show_next_fire_time": {
    ...ofJob(),
    doc: describe("When a job is due.", "schedule.show_next_fire_time job_name"),
    run: showNextFireTime,
  },
  "schedule.job_status": {
    params: [{ name: "name" }, { name: "time_fmt", default: standardFormat }],
    doc: describe("The scheduler's status of a job.", "schedule.job_status job_name"),
    run: jobStatus,
  },
};

export const scheduleModule: ModuleFunctions = {
  "schedule.list": {
    ...signature("show_all=False, show_disabled=True, where=None, return_yaml=True, offline=False"),
    pythonName: "list_",
    doc: describe(
      "The jobs, as YAML. `show_all` shows the built-in jobs too.",
      "schedule.list",
      "schedule.list show_all=True",
      "schedule.list show_disabled=False",
    ),
    run: list,
  },
  "schedule.is_enabled": {
    ...signature("name=None"),
    doc: describe("A job, or without a name whether the schedule is enabled.", "schedule.is_enabled name=job_name"),
    run: isEnabled,
  },
  ...changes,
  ...switches,
  ...times,
};

async function list(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const where = argument(args, "where");
  const schedule = await listSchedule(context, {
    isHiddenShown: isTrue(argument(args, "show_all")),
    isDisabledHidden: !isTrue(argument(args, "show_disabled")),
    where: where === "opts" || where === "pillar" ? where : undefined,
    isOffline: isTrue(argument(args, "offline")),
  });
  if (!isTrue(argument(args, "return_yaml"))) return schedule;
  const saved = savedSchedule(context);
  for (const [name, job] of schedule) if (job instanceof Map) job.set("saved", saved.has(name));
  return yamlFileText(new Map<Value, Value>([["schedule", schedule]]));
}

async function isEnabled(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const name = argument(args, "name");
  const schedule = await listSchedule(context, {});
  if (!isTrue(name)) return schedule.get("enabled") ?? true;
  return schedule.get(strOf(name)) ?? new Map();
}
