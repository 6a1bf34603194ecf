/** The options of `saltworks check` and `check-store`, commands that Salt does not have. */
import { generalOptions } from "./general-options.ts";
import { type CommandTable, flag } from "./option.ts";

const checkOptions = {
  isJson: flag(["--json"], "Print the report as JSON, with what is kept."),
  isAll: flag(["--all"], "Show what is kept, too."),
};

export const checkCommand: CommandTable<typeof generalOptions & typeof checkOptions> = {
  program: "saltworks check",
  usage: "saltworks check [options]",
  about:
    "Reads the configuration, roots and directories of a Salt master and reports what goes on, changes or ends if this master takes over: options, renderers of pillar and reactor files, functions that they name, modules in Python, keys and data. It changes nothing, and a master may run. Exit code 0: nothing is lost. 1: something is lost. 2: something could not be read.",
  groups: [{ title: "", options: { ...generalOptions, ...checkOptions } }],
  unavailable: [],
};

const storeOptions = {
  isJson: flag(["--json"], "Print the result as JSON."),
};

export const checkStoreCommand: CommandTable<typeof generalOptions & typeof storeOptions> = {
  program: "saltworks check-store",
  usage: "saltworks check-store [options]",
  about:
    "Reads everything that the master of this machine has stored - jobs and returns, minions' data, pending jobs, batches, tokens, keys, sealed secrets, and the files of jobs and minions that Salt shares - and reports what is whole and what is damaged. Files that it does not read are named as left alone. It changes nothing. The master may run or not. Exit code 0: all is whole. 1: some data is damaged. 2: some data could not be read.",
  groups: [{ title: "", options: { ...generalOptions, ...storeOptions } }],
  unavailable: [],
};
