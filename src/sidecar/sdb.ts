/** Looks up the values of a master's configuration that stand elsewhere (`sdb://`), through the operator's own Salt. */
import type { MasterConfig } from "../config/load.ts";
import type { SdbFound } from "../config/sdb.ts";
import type { ConfigValue } from "../config/yaml/values.ts";
import { hasCode } from "../errors.ts";
import { sidecarStartTimeoutMs } from "../limits.ts";
import { Ext, Float, type Value } from "../wire/values.ts";
import { findPython } from "./find-python.ts";
import { PythonProcess } from "./python-process.ts";
import { sidecarSettings } from "./settings.ts";

/** `found` and `failed`, which holds reasons, by URI. `told`: a sentence for the log, without the values. */
export type LookedUp = {
  readonly found: SdbFound;
  readonly failed: ReadonlyMap<string, string>;
  readonly told: string | undefined;
};

/** Asks for each value of `sdbValues` once. Never throws. */
export async function lookUpSdb(
  config: MasterConfig,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<LookedUp> {
  const uris = [...new Set(config.sdbValues.map(({ uri }) => uri))];
  const found = new Map<string, ConfigValue>();
  const failed = new Map<string, string>();
  if (uris.length === 0) return { found, failed, told: undefined };
  const failAll = (why: string) => {
    for (const uri of uris) if (!found.has(uri) && !failed.has(uri)) failed.set(uri, why);
    return { found, failed, told: undefined };
  };
  const python = await findPython(config.salt_python, environment);
  if (python.python === undefined) return failAll(python.why);
  let process: PythonProcess | undefined;
  try {
    process = await PythonProcess.start(sidecarSettings(config, python.python, environment));
    for (const uri of uris) await lookUp(process, uri, found, failed);
  } catch (error) {
    return failAll((error as Error).message);
  } finally {
    process?.end();
  }
  const told = `Python with Salt ${python.salt} (${python.python}) has looked up ${found.size} values of sdb://`;
  return { found, failed, told };
}

/** @throws SaltworksError SIDECAR_FAILED, SIDECAR_TIMEOUT */
async function lookUp(
  process: PythonProcess,
  uri: string,
  found: Map<string, ConfigValue>,
  failed: Map<string, string>,
): Promise<void> {
  try {
    const { value } = await process.ask({ kind: "sdb", uri }, sidecarStartTimeoutMs);
    const plain = configValueOf(value);
    if (plain === undefined) failed.set(uri, "its value is none that an option takes");
    else found.set(uri, plain);
  } catch (error) {
    if (!hasCode(error, "FUNCTION_FAILED")) throw error;
    failed.set(uri, (error as Error).message);
  }
}

function configValueOf(value: Value): ConfigValue | undefined {
  if (value instanceof Float) return value.value;
  if (value instanceof Ext) return undefined;
  if (Array.isArray(value)) {
    const members = value.map(configValueOf);
    return members.includes(undefined) ? undefined : (members as ConfigValue[]);
  }
  if (!(value instanceof Map)) return value as ConfigValue;
  const members = [...value].map(([name, member]) => [String(name), configValueOf(member)] as const);
  return members.some(([, member]) => member === undefined) ? undefined : (Object.fromEntries(members) as ConfigValue);
}
