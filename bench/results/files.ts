/** Result files: written atomically, with scenario, master and time in the name. Reading names the first fault. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { SaltworksError } from "../../src/errors.ts";
import { operationsCsv, seriesCsv } from "./csv.ts";
import { type RunResult, resultSchema } from "./schema.ts";
import { faultInResult } from "./shape.ts";

/**
 * Checks that results can be written, before a run of several minutes.
 *
 * @throws SaltworksError USAGE if files cannot be written there; makes the directory
 */
export function demandDirectory(directory: string): void {
  const probe = join(directory, `.saltworks-${process.pid}`);
  try {
    makeDirectory(resolve(directory));
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (cause) {
    throw new SaltworksError(
      "USAGE",
      `cannot write to the directory ${directory}: ${(cause as Error).message}`,
      {},
      { cause },
    );
  }
}

/** Makes one directory after the other. Node's recursive way never ends on a file system such as /proc, which has the parent and denies it. */
function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectory(dirname(directory));
  mkdirSync(directory);
}

/** @throws SaltworksError USAGE if this file can be neither written nor made; leaves it as it is */
export function demandFile(path: string): void {
  if (!existsSync(path)) {
    if (!existsSync(dirname(path))) {
      throw new SaltworksError("USAGE", `cannot write ${path}: there is no directory ${dirname(path)}`);
    }
    demandDirectory(dirname(path));
    return;
  }
  try {
    closeSync(openSync(path, "r+"));
  } catch (cause) {
    throw new SaltworksError("USAGE", `cannot write ${path}: ${(cause as Error).message}`, {}, { cause });
  }
}

/** Writes the result, and its tables beside it (`.csv`, `.series.csv`). @returns the path of the result */
export function writeResult(directory: string, result: RunResult): string {
  mkdirSync(directory, { recursive: true });
  const time = result.startedAt.replaceAll(/[-:]/g, "").replace(/\.\d+Z$/, "Z");
  const path = join(directory, `${result.scenario.name}-${result.master.kind}-${time}-${process.pid}.json`);
  const tables = path.replace(/\.json$/, "");
  writeFileSync(`${tables}.csv`, operationsCsv(result));
  writeFileSync(`${tables}.series.csv`, seriesCsv(result));
  const partial = `${path}.partial`;
  try {
    writeFileSync(partial, `${JSON.stringify(result)}\n`);
    renameSync(partial, path);
  } finally {
    // After a failure, such as a full disk, nothing of it stays.
    rmSync(partial, { force: true });
  }
  return path;
}

/** @throws SaltworksError CONFIG_INVALID for a file that does not hold a result, or of another schema */
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
  const fault = faultInResult(value as object);
  if (fault !== undefined)
    throw new SaltworksError("CONFIG_INVALID", `cannot read the result ${path}: ${fault}`, { path });
  return value as RunResult;
}
