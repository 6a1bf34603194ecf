/** The table of execution functions that this minion offers, less what the configuration disables. */
import type { MinionConfig } from "../../config/load.ts";
import type { ModuleFunction, ModuleTable } from "../functions/module-contract.ts";
import { cmdModule } from "./cmd.ts";
import { configModule } from "./config.ts";
import { cpModule } from "./cp.ts";
import { dataModule } from "./data.ts";
import { diskModule } from "./disk.ts";
import type { Environment } from "./environment.ts";
import { eventModule } from "./event.ts";
import { fileLineFunctions } from "./file-line.ts";
import { filePatternFunctions } from "./file-patterns.ts";
import { fileTextFunctions } from "./file-text.ts";
import { fileTreeFunctions } from "./file-tree.ts";
import { grainsModule } from "./grains.ts";
import { hostsModule } from "./hosts.ts";
import { matchModule } from "./match.ts";
import { mineModule } from "./mine.ts";
import { keyModule, minionModule } from "./minion-key.ts";
import type { ModuleFunctions } from "./module-functions.ts";
import { networkModule } from "./network.ts";
import { pillarModule } from "./pillar.ts";
import { publishModule } from "./publish.ts";
import { saltutilModule } from "./saltutil.ts";
import { scheduleModule } from "./schedule.ts";
import { serviceModule } from "./service.ts";
import { statusModule } from "./status.ts";
import { sysModule } from "./sys.ts";
import { testModule } from "./test.ts";
import { userModule } from "./user.ts";

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
    dataModule,
    cpModule,
    diskModule,
    eventModule(environment),
    fileLineFunctions,
    filePatternFunctions,
    fileTextFunctions,
    fileTreeFunctions,
    grainsModule,
    hostsModule(),
    keyModule,
    matchModule,
    mineModule,
    minionModule,
    networkModule,
    pillarModule,
    publishModule,
    saltutilModule,
    scheduleModule,
    serviceModule,
    statusModule,
    sysModule,
    testModule,
    userModule,
  ];
}

/** Whether the configuration allows a module. */
export function isEnabled(
  module: string,
  config: Pick<MinionConfig, "disable_modules" | "whitelist_modules">,
): boolean {
  if (config.disable_modules.includes(module)) return false;
  return config.whitelist_modules.length === 0 || config.whitelist_modules.includes(module);
}
