/** Wheel functions `config`: the master's configuration, and files beside it that the master reads at its next start. */
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { stringify } from "yaml";
import { readIfThere } from "../../config/files/missing.ts";
import { loadMasterConfig } from "../../config/load.ts";
import { parseSaltYaml } from "../../config/yaml/salt-yaml.ts";
import { isConfigMap } from "../../config/yaml/values.ts";
import { SaltworksError } from "../../errors.ts";
import { replaceFile } from "../../store/disk/durable-file.ts";
import { Ext, Float, type Value, type ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { configValues } from "./config.ts";

const fileMode = 0o600;
const folderMode = 0o755;
/** A name, not a path. */
const namePattern = /^[\w.-]+$/;

/** Writes the file only if the configuration can be read with it, so that the master can still start. */
function update({ config }: RunnerContext, args: ValueMap): string {
  const name = `${textArgument(args, "file_name")}.conf`;
  if (!namePattern.test(name) || name.startsWith(".")) return "Invalid path";
  const text = yamlText(args.get("yaml_contents"));
  const folder = resolve(config.configDir, dirname(config.default_include));
  const file = join(folder, name);
  mkdirSync(folder, { recursive: true, mode: folderMode });
  const before = readIfThere(file);
  replaceFile(file, text, fileMode);
  try {
    loadMasterConfig(config.configDir);
  } catch (error) {
    if (before === undefined) rmSync(file);
    else replaceFile(file, before, fileMode);
    throw new SaltworksError("FUNCTION_FAILED", `not written: ${(error as Error).message}`, {}, { cause: error });
  }
  return `Wrote ${name}`;
}

/** Writes a map as YAML. Keeps a text that is the YAML of a map, comments included. */
function yamlText(contents: Value | undefined): string {
  if (contents instanceof Map) return stringify(plainOf(contents), { version: "1.1" });
  const read = typeof contents === "string" ? parseSaltYaml(contents) : undefined;
  if (typeof contents !== "string" || read === undefined || !("value" in read) || !isConfigMap(read.value))
    throw new SaltworksError("FUNCTION_ARGUMENTS", "yaml_contents must be a map, or a text that is one in YAML", {});
  return contents.endsWith("\n") ? contents : `${contents}\n`;
}

function plainOf(value: Value): unknown {
  if (value instanceof Float) return value.value;
  if (value instanceof Ext || value instanceof Uint8Array)
    throw new SaltworksError("FUNCTION_ARGUMENTS", "yaml_contents holds bytes, which no option takes", {});
  if (Array.isArray(value)) return value.map(plainOf);
  // Converts Maps to plain objects: a Map would become YAML's ordered map, which is not read as options.
  return value instanceof Map
    ? Object.fromEntries([...value].map(([key, member]) => [String(key), plainOf(member)]))
    : value;
}

export const configWheel: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "config.values",
    { parameters: [], doc: "The master's configuration, without secrets.", run: (context) => configValues(context) },
  ],
  [
    "config.apply",
    {
      parameters: parametersOf("key!", "value!"),
      doc: "Refused: it would overwrite the master's file. Use config.update_config.",
      run: () => {
        throw new SaltworksError(
          "FUNCTION_FAILED",
          "config.apply would write over the master's own file; config.update_config writes one beside it",
        );
      },
    },
  ],
  [
    "config.update_config",
    {
      parameters: parametersOf("file_name!", "yaml_contents!"),
      doc: "Writes options into a file in the directory of default_include, which the master reads at its next start. Fails without writing if the master could not read it.",
      run: update,
    },
  ],
]);
