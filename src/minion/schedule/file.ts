/** The file that keeps a minion's schedule: `_schedule.conf` in the directory of `default_include`. Name, place and form are Salt's. */
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

/**
 * Replaces the whole file by renaming, so that readers never see half of it. Leaves a file with the same content alone.
 *
 * @throws errors of the file system
 */
export function writeScheduleFile(config: Place, schedule: ValueMap): void {
  const path = scheduleFile(config);
  const text = yamlFileText(new Map([["schedule", schedule]]));
  if (readTextIfAny(path) === text) return;
  mkdirSync(includeDirectory(config), { recursive: true });
  const half = `${path}.${process.pid}.tmp`;
  writeFileSync(half, text);
  renameSync(half, path);
}
