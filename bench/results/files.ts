/** Result files: written whole under a name that says scenario, master and time, read back with a word on what is wrong. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SaltworksError } from "../../src/errors.ts";
import { type RunResult, resultSchema } from "./schema.ts";

/** @returns the file's path */
export function writeResult(directory: string, result: RunResult): string {
  mkdirSync(directory, { recursive: true });
  const time = result.startedAt.replaceAll(/[-:]/g, "").replace(/\.\d+Z$/, "Z");
  const path = join(directory, `${result.scenario.name}-${result.master.kind}-${time}-${process.pid}.json`);
  const partial = `${path}.partial`;
  writeFileSync(partial, `${JSON.stringify(result)}\n`);
  renameSync(partial, path);
  return path;
}

/** @throws SaltworksError CONFIG_INVALID for a file that is no result, or one of another schema */
export function readResult(path: string): RunResult {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    const why = cause instanceof SyntaxError ? "it is not JSON" : (cause as Error).message;
    throw new SaltworksError("CONFIG_INVALID", `cannot read the result ${path}: ${why}`, { path }, { cause });
  }
  const schema = typeof value === "object" && value !== null && "schema" in value ? value.schema : undefined;
  if (schema !== resultSchema) {
    const found = typeof schema === "string" ? `its schema is ${schema}` : "it names no schema";
    throw new SaltworksError("CONFIG_INVALID", `cannot read the result ${path}: ${found}, not ${resultSchema}`, {
      path,
    });
  }
  const result = value as RunResult;
  if (!Array.isArray(result.points) || typeof result.scenario?.name !== "string") {
    throw new SaltworksError("CONFIG_INVALID", `cannot read the result ${path}: it has no scenario or no points`, {
      path,
    });
  }
  return result;
}
