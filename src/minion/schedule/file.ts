/** The file in which a minion keeps its schedule, `_schedule.conf` among the files that its configuration includes: Salt's name, place and form. */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { MinionConfig } from "../../config/schema.ts";
import { yamlFileText } from "../../python/yaml-writer.ts";
import type { ValueMap } from "../../wire/values.ts";
import { readTextIfAny } from "../modules/machine/file-error.ts";

type Place = Pick<MinionConfig, "configFile" | "default_include">;

export function includeDirectory({ configFile, default_include: pattern }: Place): string {
  return resolve(dirname(configFile), dirname(pattern));
}

export function scheduleFile(config: Place): string {
  return join(includeDirectory(config), "_schedule.conf");
}

/** Replaces the file whole, so that nobody reads half of it; one that says the same already is left alone. @throws errors of the file system */
export function writeScheduleFile(config: Place, schedule: ValueMap): void {
  const path = scheduleFile(config);
  const text = yamlFileText(new Map([["schedule", schedule]]));
  if (readTextIfAny(path) === text) return;
  mkdirSync(includeDirectory(config), { recursive: true });
  const half = `${path}.${process.pid}.tmp`;
  writeFileSync(half, text);
  renameSync(half, path);
}
