/** Execution module `test`: facts about this minion and its modules. */

import { readOwnPackage } from "../../../config/host/program.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import { type ModuleFunctions, moduleNames } from "../declare/module-functions.ts";
import { findSetting, optionsOf } from "../declare/settings.ts";
import { argument, signature } from "../declare/signature.ts";
import { versionsInformation, versionsReport } from "../minion/versions.ts";

export const reportFunctions: ModuleFunctions = {
  "test.version": {
    ...signature(""),
    doc: describe(
      "The version of this program. The grain `saltversion` names the Salt release that it follows.",
      "test.version",
    ),
    run: () => readOwnPackage().version,
  },
  "test.versions_information": {
    ...signature(""),
    doc: describe("Versions of this program, its libraries and the machine, as a map.", "test.versions_information"),
    run: (context) => versionsInformation(distributionOf(context)),
  },
  "test.versions_report": {
    ...signature(""),
    doc: describe("The versions as a text.", "test.versions_report"),
    run: (context) => versionsReport(distributionOf(context)),
  },
  "test.versions": {
    ...signature(""),
    doc: describe("The same as test.versions_report.", "test.versions"),
    run: (context) => versionsReport(distributionOf(context)),
  },
  "test.conf_test": {
    ...signature(""),
    doc: describe("The value of the setting `test.foo`, `unconfigured` without one.", "test.conf_test"),
    run: (context) => findSetting(context, ["test.foo"]) ?? "unconfigured",
  },
  "test.get_opts": {
    ...signature(""),
    doc: describe("The minion's whole configuration.", "test.get_opts"),
    run: (context) => optionsOf(context),
  },
  "test.opts_pkg": {
    ...signature(""),
    doc: describe("The minion's whole configuration, with its grains.", "test.opts_pkg"),
    run: (context) => optionsOf(context),
  },
  "test.cross_test": {
    ...signature("func, args=None"),
    doc: describe("Runs another function.", "test.cross_test test.echo '[hello]'"),
    run: async (context, args) => {
      const list = argument(args, "args");
      return await context.callFunction(strOf(argument(args, "func")), Array.isArray(list) ? list : []);
    },
  },
  "test.attr_call": {
    ...signature(""),
    doc: describe("Runs grains.items.", "test.attr_call"),
    run: (context) => context.callFunction("grains.items"),
  },
  "test.provider": {
    ...signature("module"),
    doc: describe("The file of a module, an empty text without one.", "test.provider cmd"),
    run: (context, args) => {
      const name = strOf(argument(args, "module"));
      return loadedModules(context).includes(name) ? name : "";
    },
  },
  "test.providers": {
    ...signature(""),
    doc: describe("The modules by the name of their file.", "test.providers"),
    run: (context) => new Map(loadedModules(context).map((name): [Value, Value] => [name, name])),
  },
  "test.not_loaded": {
    ...signature(""),
    doc: describe("Modules of this program that the configuration keeps from being loaded.", "test.not_loaded"),
    run: (context) => moduleNames.filter((name) => !loadedModules(context).includes(name)),
  },
  "test.module_report": {
    ...signature(""),
    doc: describe("The functions and modules that can be called.", "test.module_report"),
    run: moduleReport,
  },
  "test.stack": {
    ...signature(""),
    doc: describe("The program's call stack at this point.", "test.stack"),
    run: () => new Error("stack").stack?.split("\n").slice(1).join("\n") ?? "",
  },
  "test.tty": {
    ...signature("*args, **kwargs"),
    doc: describe("Replaced by cmd.tty.", "cmd.tty pts0 hello"),
    run: () => "ERROR: This function has been moved to cmd.tty",
  },
  "test.deprecation_warning": {
    ...signature(""),
    doc: describe("Logs a deprecation warning.", "test.deprecation_warning"),
    run: (context) => {
      context.log.warn("This is a test deprecation warning");
      return true;
    },
  },
};

function loadedModules(context: CallContext): string[] {
  return [...new Set(Array.from(context.functions.keys(), (name) => name.slice(0, name.indexOf("."))))].sort();
}

/** Salt reports which functions three ways of access miss. Here only one way exists, so the lists of missing names are empty. */
function moduleReport(context: CallContext): Encodable {
  const functions = [...context.functions.keys()];
  const modules = loadedModules(context);
  return {
    functions,
    function_attrs: functions,
    function_subs: functions,
    modules,
    module_attrs: modules,
    missing_attrs: [],
    missing_subs: [],
  };
}

function distributionOf(context: CallContext): string {
  const grain = (name: string) => strOf(context.grains().get(name) ?? "");
  return [grain("os").toLowerCase(), grain("osrelease"), grain("oscodename")].filter(isTrue).join(" ");
}
