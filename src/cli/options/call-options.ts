/** The options of `saltworks call`. Source: Salt's own `salt-call --help` for names, groups and order. */
import {
  generalOptions,
  loggingAbout,
  logLevelOption,
  outputAbout,
  outputOptions,
  stateOutputOptions,
  unavailableEverywhere,
  unavailableLogFile,
  wordOptions,
} from "./general-options.ts";
import { type CommandTable, flag, text } from "./option.ts";

const callOptions = {
  ...wordOptions,
  isGrainsAsked: flag(["-g", "--grains"], "Show this machine's grains."),
  isDocAsked: flag(["-d", "--doc", "--documentation"], "Show what a function or module does, or all of them."),
  master: text(
    ["--master"],
    "MASTER",
    "The master to use instead of the configured one. It must have accepted this minion's key.",
  ),
  isLocal: flag(["--local"], "Run the function as if there were no master."),
  isRetcodePassed: flag(["--retcode-passthrough"], "Exit with the function's own code instead of 1 if it fails."),
  isMetadataShown: flag(["--metadata"], "Show job id, function, arguments and code around the result."),
  id: text(["--id"], "ID", "The minion id to use instead of the configured one."),
  isReturnEventOff: flag(["--no-return-event"], "Do not send the result to the master."),
  isStateDiffOnly: flag(["--output-diff"], "Show only states that changed something."),
};

type CallOptions = typeof generalOptions &
  typeof callOptions &
  typeof outputOptions &
  typeof stateOutputOptions &
  ReturnType<typeof logLevelOption>;

export const callCommand: CommandTable<CallOptions> = {
  program: "salt-call",
  usage: "salt-call [options] <function> [arguments]",
  about: "Runs a function on this machine, in its own process, with the minion's configuration and key.",
  groups: [
    { title: "", options: { ...generalOptions, ...callOptions } },
    { title: "Output Options", about: outputAbout, options: { ...outputOptions, ...stateOutputOptions } },
    { title: "Logging Options", about: loggingAbout, options: logLevelOption() },
  ],
  unavailable: [
    ...unavailableEverywhere,
    ["--proxyid"],
    ["--module-executors"],
    ["--executor-opts"],
    ["--cachedir"],
    ["--hard-crash"],
    ["-m", "--module-dirs"],
    ["--return"],
    ["--file-root"],
    ["--pillar-root"],
    ["--states-dir"],
    ["--set-metadata"],
    ["--skip-grains"],
    ["--refresh-grains-cache"],
    ["-t", "--timeout"],
    ["--priv"],
    ["--profiling-path"],
    ["--enable-profiling"],
    ...unavailableLogFile,
  ],
};
