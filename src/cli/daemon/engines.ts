/** Engines of the site in Python: a program each, started again when it ends, and ended with the master. */
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { engineEntries } from "../../config/options/site-python.ts";
import type { ConfigValue } from "../../config/yaml/values.ts";
import { servedNames } from "../../sidecar/availability.ts";
import { engineProgram } from "../../sidecar/python-process.ts";
import { WatchedProgram } from "./watched-program.ts";

export function enginesOf(config: MasterConfig, log: Logger): readonly WatchedProgram[] {
  const { sitePython: command, configFile, opts } = config;
  const served = servedNames(config, "engines");
  if (command === undefined) return [];
  return engineEntries((opts.get("engines") ?? null) as ConfigValue)
    .filter(({ module }) => served.includes(module))
    .map(({ name, place }) => {
      const args = [fileURLToPath(engineProgram), configFile, String(place)];
      return new WatchedProgram({ name: `the engine ${name}`, command, args, log, cwd: "/" });
    });
}
