/** The options of `saltworks check-store`, a command that Salt does not have. */
import { generalOptions } from "./general-options.ts";
import { type CommandTable, flag } from "./option.ts";

const checkOptions = {
  isJson: flag(["--json"], "Print the result as JSON."),
};

export const checkStoreCommand: CommandTable<typeof generalOptions & typeof checkOptions> = {
  program: "saltworks check-store",
  usage: "saltworks check-store [options]",
  about:
    "Reads everything that the master of this machine has stored - jobs and returns, minions' data, pending jobs, batches, tokens, keys, sealed secrets, and the files of jobs and minions that Salt shares - and reports what is whole and what is damaged. Files that it does not read are named as left alone. It changes nothing. The master may run or not. Exit code 0: all is whole. 1: some data is damaged. 2: some data could not be read.",
  groups: [{ title: "", options: { ...generalOptions, ...checkOptions } }],
  unavailable: [],
};
