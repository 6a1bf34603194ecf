/** Finds and reads the Saltfile: by option, environment, working directory or home directory, in this order. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isFile } from "../../config/files/kinds.ts";
import { parseSaltYaml } from "../../config/yaml/salt-yaml.ts";
import { isConfigMap } from "../../config/yaml/values.ts";
import type { Host } from "../host/host.ts";
import type { SaltfileSection } from "../options/saltfile.ts";

/**
 * @param given the file that the command line names
 * @returns undefined without a Saltfile, or without a section for this program
 */
export function readSaltfile(
  program: string,
  given: string | undefined,
  host: Pick<Host, "environment" | "directory">,
): SaltfileSection | undefined {
  const named = given ?? (host.environment.SALT_SALTFILE || undefined);
  const file = named ?? placesOf(host).find((place) => existsSync(place) && isFile(place));
  if (file === undefined) return undefined;
  if (!isFile(file)) return { fault: `'${file}' file does not exist.` };
  const path = resolve(file);
  let source: string;
  try {
    source = readFileSync(path, "utf8");
  } catch (error) {
    return { fault: `${path}: cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
  const read = parseSaltYaml(source);
  if ("faults" in read)
    return { fault: read.faults.map(({ line, message }) => `${path}:${line}: ${message}`).join("; ") };
  const section = isConfigMap(read.value) ? read.value[program] : undefined;
  return isConfigMap(section) ? { file: path, section } : undefined;
}

function placesOf({ environment, directory }: Pick<Host, "environment" | "directory">): string[] {
  const home = environment.HOME;
  return [
    ...(directory === undefined ? [] : [join(directory, "Saltfile")]),
    ...(home === undefined ? [] : [join(home, ".salt", "Saltfile")]),
  ];
}
