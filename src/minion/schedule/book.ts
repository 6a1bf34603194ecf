/** A minion's scheduled jobs. Its own come from the configuration and operators; a file keeps them. They replace pillar jobs of the same name. */

import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { strOf } from "../../python/repr.ts";
import { isEqual } from "../../python/values.ts";
import { ScheduledJob, scheduleSettings } from "../../schedule/job.ts";
import type { ScheduleClock } from "../../schedule/timing.ts";
import { asValue, type Value, type ValueMap } from "../../wire/values.ts";
import { configToValue } from "../functions/yaml-values.ts";
import { writeScheduleFile } from "./file.ts";

/** `given`: the specification as received, before the scheduler adds defaults. */
type Source = {
  readonly settings: ValueMap;
  readonly jobs: Map<string, { readonly job: ScheduledJob; readonly given: Value }>;
};

export class ScheduleBook {
  readonly #config: MinionConfig;
  readonly #log: Logger;
  readonly #clock: () => ScheduleClock;
  readonly #own: Source = { settings: new Map(), jobs: new Map() };
  readonly #pillar: Source = { settings: new Map(), jobs: new Map() };

  constructor(config: MinionConfig, log: Logger, clock: () => ScheduleClock) {
    this.#config = config;
    this.#log = log;
    this.#clock = clock;
    const configured = configToValue(config.schedule);
    if (configured instanceof Map) this.put(configured);
  }

  /** Adds jobs and settings of the minion's own; each replaces one of the same name. */
  put(schedule: ValueMap): void {
    for (const [name, spec] of schedule) this.#put(this.#own, strOf(name), spec);
  }

  /** @returns whether the minion had its own job or setting of this name */
  delete(name: string): boolean {
    return this.#own.jobs.delete(name) || this.#own.settings.delete(name);
  }

  /** A job of the minion's own. Jobs of the pillar cannot be changed here. */
  own(name: string): ScheduledJob | undefined {
    return this.#own.jobs.get(name)?.job;
  }

  isInPillar(name: string): boolean {
    return this.#pillar.jobs.has(name);
  }

  /** The job that runs under this name: the minion's own, else the pillar's. */
  job(name: string): ScheduledJob | undefined {
    return this.own(name) ?? this.#pillar.jobs.get(name)?.job;
  }

  get jobs(): ScheduledJob[] {
    return Array.from(new Map([...this.#pillar.jobs, ...this.#own.jobs]).values(), ({ job }) => job);
  }

  /** The settings of the whole schedule. */
  get settings(): ValueMap {
    return new Map([...this.#pillar.settings, ...this.#own.settings]);
  }

  /** Replaces the pillar's schedule. Unchanged jobs keep their progress. */
  setPillar(pillar: ValueMap): void {
    const schedule = pillar.get("schedule") ?? new Map<Value, Value>();
    if (!(schedule instanceof Map)) {
      this.#log.error("the pillar's schedule must be a map; it is ignored");
      return;
    }
    const { jobs, settings } = this.#pillar;
    settings.clear();
    const names = new Set(Array.from(schedule.keys(), strOf));
    for (const name of [...jobs.keys()]) if (!names.has(name)) jobs.delete(name);
    for (const [key, spec] of schedule) {
      const name = strOf(key);
      const known = jobs.get(name);
      if (known === undefined || !isEqual(known.given, spec)) this.#put(this.#pillar, name, spec);
    }
  }

  /** The schedule as events show it. `where`: only the jobs of the pillar (`pillar`) or the minion's own (`opts`). */
  listed(where?: string): ValueMap {
    const sources = where === "pillar" ? [this.#pillar] : where === "opts" ? [this.#own] : [this.#pillar, this.#own];
    const listed: ValueMap = new Map();
    for (const { settings, jobs } of sources) {
      for (const [name, value] of settings) listed.set(name, value);
      for (const [name, { job }] of jobs) listed.set(name, job.status());
    }
    return listed;
  }

  /** Writes the minion's own jobs and settings to its file; logs a failure. */
  persist(): void {
    const kept: ValueMap = new Map(this.#own.settings);
    for (const [name, { job }] of this.#own.jobs) {
      kept.set(name, new Map([...job.spec].filter(([member]) => !strOf(member).startsWith("_"))));
    }
    try {
      writeScheduleFile(this.#config, kept);
    } catch (error) {
      this.#log.error({ err: error }, "Failed to persist the updated schedule");
    }
  }

  #put(source: Source, name: string, spec: Value): void {
    if (scheduleSettings.has(name)) source.settings.set(name, spec);
    else if (spec instanceof Map) {
      const job = new ScheduledJob(name, new Map(spec), this.#clock());
      source.jobs.set(name, { job, given: asValue(spec) });
    } else this.#log.error({ job: name }, "a scheduled job must be a map; it is ignored");
  }
}
