/** The table of execution functions that this minion offers, less what the configuration disables. */
import type { MinionConfig } from "../../config/load.ts";
import type { ModuleFunction, ModuleTable } from "../module-contract.ts";
import { cmdModule } from "./cmd.ts";
import { configModule } from "./config.ts";
import { diskModule } from "./disk.ts";
import type { Environment } from "./environment.ts";
import { eventModule } from "./event.ts";
import { grainsModule } from "./grains.ts";
import { mineModule } from "./mine.ts";
import { matchModule } from "./match.ts";
import type { ModuleFunctions } from "./module-functions.ts";
import { networkModule } from "./network.ts";
import { pillarModule } from "./pillar.ts";
import { saltutilModule } from "./saltutil.ts";
import { statusModule } from "./status.ts";
import { sysModule } from "./sys.ts";
import { testModule } from "./test.ts";

/**
 * @param environment - variables of the minion's process, which commands inherit: hand in `process.env` at the program's entry
 */
export function loadModules(
  config: Pick<MinionConfig, "disable_modules" | "whitelist_modules">,
  environment: Environment,
): ModuleTable {
  const table = new Map<string, ModuleFunction>();
  for (const functions of allModules(environment)) {
    for (const [name, definition] of Object.entries(functions)) {
      if (isEnabled(name.slice(0, name.indexOf(".")), config)) table.set(name, definition);
    }
  }
  return table;
}

function allModules(environment: Environment): ModuleFunctions[] {
  return [
    cmdModule(environment),
    configModule,
    diskModule,
    eventModule(environment),
    grainsModule,
    mineModule,
    networkModule,
    matchModule,
    pillarModule,
    saltutilModule,
    statusModule,
    sysModule,
    testModule,
  ];
}

function isEnabled(module: string, config: Pick<MinionConfig, "disable_modules" | "whitelist_modules">): boolean {
  if (config.disable_modules.includes(module)) return false;
  return config.whitelist_modules.length === 0 || config.whitelist_modules.includes(module);
}
