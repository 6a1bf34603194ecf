/** The options of `saltworks run`. Source: Salt's own `salt-run --help` for names, groups and order. */
import {
  generalOptions,
  loggingAbout,
  logLevelOption,
  outputAbout,
  outputOptions,
  stateOutputOptions,
  unavailableAuthentication,
  unavailableEverywhere,
  unavailableLogFile,
  wordOptions,
} from "./general-options.ts";
import { type CommandTable, flag, int } from "./option.ts";

const runnerOptions = {
  timeoutSeconds: int(
    ["-t", "--timeout"],
    "TIMEOUT",
    "Seconds that functions which ask minions wait for them. Default: 1.",
  ),
  ...wordOptions,
};

const displayOptions = { isQuiet: flag(["--quiet"], "Do not show the result.") };

type RunOptions = typeof generalOptions &
  typeof runnerOptions &
  typeof outputOptions &
  typeof stateOutputOptions &
  typeof displayOptions &
  ReturnType<typeof logLevelOption>;

export const runCommand: CommandTable<RunOptions> = {
  program: "salt-run",
  usage: "salt-run [options] <function> [arguments]",
  about: "Runs a function on the master itself, and shows its result.",
  groups: [
    { title: "", options: { ...generalOptions, ...runnerOptions } },
    {
      title: "Output Options",
      about: outputAbout,
      options: { ...outputOptions, ...stateOutputOptions, ...displayOptions },
    },
    { title: "Logging Options", about: loggingAbout, options: logLevelOption() },
  ],
  unavailable: [
    ...unavailableEverywhere,
    ["--jid"],
    ["--hard-crash"],
    ["-d", "--doc", "--documentation"],
    ["--async"],
    ["--skip-grains"],
    ["-a", "--auth", "--eauth", "--external-auth"],
    ...unavailableAuthentication,
    ["--profiling-path"],
    ["--enable-profiling"],
    ...unavailableLogFile,
  ],
};
