/** Reads arguments of runner functions. A missing argument or None means the function's default. */
import { SaltworksError } from "../../errors.ts";
import { isTrue } from "../../python/values.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { RunnerParameter } from "./contract.ts";

export type TargetArgument = Omit<AskedTarget, "delimiter">;

/** Parameters by name; names that end in `!` are required. */
export function parametersOf(...names: readonly string[]): readonly RunnerParameter[] {
  return names.map((name) => ({ name: name.replace(/!$/, ""), isRequired: name.endsWith("!") }));
}

export function textArgument(args: ValueMap, name: string, otherwise = ""): string {
  const value = args.get(name);
  return value === undefined || value === null ? otherwise : String(value);
}

/** Whether an argument is given and true in Python. */
export function isGivenTrue(args: ValueMap, name: string): boolean {
  return isTrue(args.get(name) ?? null);
}

/** Seconds as milliseconds. A missing argument, 0 and a value that is not a number mean the default. */
export function secondsArgument(args: ValueMap, name: string, otherwiseSeconds: number): number {
  const given = Number(args.get(name) ?? Number.NaN);
  return (Number.isFinite(given) && given > 0 ? given : otherwiseSeconds) * 1_000;
}

/** Takes names separated by commas, or a list. */
export function listArgument(value: Value | undefined): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value.map(String);
  return String(value)
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** @throws SaltworksError FUNCTION_ARGUMENTS if the target is neither text nor list */
export function targetArgument(args: ValueMap, otherwise: string, kind = "glob"): TargetArgument {
  const target = args.get("tgt") ?? otherwise;
  if (target instanceof Map || target instanceof Uint8Array)
    throw new SaltworksError("FUNCTION_ARGUMENTS", "tgt must be a text or a list", {});
  const targetKind = textArgument(args, "tgt_type", kind);
  return { target: Array.isArray(target) ? target.map(String) : String(target), targetKind };
}
