/** Reads a schedule from a file's YAML. */
import { parseSaltYaml } from "../../../config/yaml/salt-yaml.ts";
import type { ValueMap } from "../../../wire/values.ts";
import { configToValue } from "../../functions/yaml-values.ts";

/** @returns the schedule, empty if the text does not have one; the reason as text if it cannot be read */
export function parseScheduleText(text: string): ValueMap | string {
  const read = parseSaltYaml(text);
  if ("faults" in read) return read.faults.map(({ line, message }) => `line ${line}: ${message}`).join("; ");
  const value = configToValue(read.value);
  const schedule = value instanceof Map ? value.get("schedule") : undefined;
  return schedule instanceof Map ? schedule : new Map();
}
