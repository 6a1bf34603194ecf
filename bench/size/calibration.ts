/** A calibration: the points of scenarios from which `saltworks size` fits its laws, with the machine that they were measured on. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/config/host/program.ts";
import { SaltworksError } from "../../src/errors.ts";
import type { MachineFingerprint, Point } from "../results/schema.ts";
import type { Speed } from "./speed.ts";

export const calibrationSchema = "saltworks-calibration/1";

/** One run of a scenario. `minions`: in the fleet. */
export type CalibrationRun = { readonly scenario: string; readonly minions: number; readonly point: Point };

export type Calibration = {
  readonly schema: typeof calibrationSchema;
  readonly startedAt: string;
  readonly tool: { readonly version: string; readonly commit: string };
  readonly machine: MachineFingerprint;
  readonly workers: number;
  readonly speed: Speed;
  readonly runs: readonly CalibrationRun[];
};

/** It is part of the package. */
export const shippedCalibration = join(packageRoot(), "bench", "results", "measured", "size", "calibration.json");

/** @throws SaltworksError CONFIG_INVALID for a file that is not a calibration */
export function readCalibration(path: string): Calibration {
  const refuse = (why: string, cause?: unknown) =>
    new SaltworksError("CONFIG_INVALID", `cannot read the calibration ${path}: ${why}`, { path }, { cause });
  let value: Partial<Calibration> | null;
  try {
    value = JSON.parse(readFileSync(path, "utf8")) as Partial<Calibration> | null;
  } catch (cause) {
    throw refuse(cause instanceof SyntaxError ? "it is not JSON" : (cause as Error).message, cause);
  }
  if (value?.schema !== calibrationSchema)
    throw refuse(`its schema is ${String(value?.schema)}, not ${calibrationSchema}`);
  const isWhole =
    Array.isArray(value.runs) &&
    value.runs.length > 0 &&
    value.runs.every(({ minions, point }) => minions > 0 && typeof point?.cpu?.totalMs === "number") &&
    typeof value.machine?.cpu === "string" &&
    typeof value.speed?.rsaUs === "number";
  if (!isWhole) throw refuse("runs, machine or speed are missing");
  return value as Calibration;
}
