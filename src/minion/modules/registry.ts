/** The table of this minion's execution functions, without the modules that the configuration disables. */
import type { MinionConfig } from "../../config/load.ts";
import type { ModuleFunction, ModuleTable } from "../functions/module-contract.ts";
import { cmdModule } from "./cmd/cmd.ts";
import { cpModule } from "./cp/cp.ts";
import type { ModuleFunctions } from "./declare/module-functions.ts";
import { fileLineFunctions } from "./file/line.ts";
import { filePatternFunctions } from "./file/patterns.ts";
import { fileTextFunctions } from "./file/text.ts";
import { fileTreeFunctions } from "./file/tree.ts";
import { grainsModule } from "./grains/grains.ts";
import type { Environment } from "./machine/environment.ts";
import { configModule } from "./minion/config.ts";
import { dataModule } from "./minion/data.ts";
import { eventModule } from "./minion/event.ts";
import { keyModule, minionModule } from "./minion/key.ts";
import { matchModule } from "./minion/match.ts";
import { mineModule } from "./minion/mine.ts";
import { pillarModule } from "./minion/pillar.ts";
import { publishModule } from "./minion/publish.ts";
import { saltutilModule } from "./minion/saltutil.ts";
import { sysModule } from "./minion/sys.ts";
import { scheduleModule } from "./schedule/schedule.ts";
import { stateModule } from "./state/state.ts";
import { diskModule } from "./system/disk.ts";
import { hostsModule } from "./system/hosts.ts";
import { networkModule } from "./system/network.ts";
import { serviceModule } from "./system/service.ts";
import { statusModule } from "./system/status.ts";
import { userModule } from "./system/user.ts";
import { testModule } from "./test/test.ts";

/**
 * @param environment - variables of the minion's process, which commands inherit; the program's entry passes `process.env`
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
    stateModule,
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
