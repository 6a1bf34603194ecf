/** The options of `saltworks run`. Source: Salt's own `salt-run --help` for names, groups and order. */
import {
  authenticationOptions,
  authenticationTitle,
  generalOptions,
  hardCrashOptions,
  logFileOptions,
  loggingAbout,
  logLevelOption,
  outputAbout,
  outputOptions,
  stateOutputOptions,
  wordOptions,
} from "./general-options.ts";
import { type CommandTable, flag, int, text } from "./option.ts";

const runnerOptions = {
  timeoutSeconds: int(
    ["-t", "--timeout"],
    "TIMEOUT",
    "Seconds to wait for minions, for functions that ask them. Default: the function's own.",
  ),
  isStdinRead: wordOptions.isStdinRead,
  jid: text(["--jid"], "JID", "The job id to use instead of a new one."),
  ...hardCrashOptions,
  noParse: wordOptions.noParse,
  isDocAsked: flag(
    ["-d", "--doc", "--documentation"],
    "Show the documentation of a function, a runner or all functions.",
  ),
  isAsync: flag(["--async"], "Start the function and do not wait for it."),
  isSkippingGrains: flag(["--skip-grains"], "Accepted for scripts. No function here waits for the master's grains."),
};

const loginOptions = authenticationOptions();

const displayOptions = { isQuiet: flag(["--quiet"], "Do not show the result.") };

type RunOptions = typeof generalOptions &
  typeof runnerOptions &
  typeof outputOptions &
  typeof stateOutputOptions &
  typeof displayOptions &
  typeof loginOptions &
  ReturnType<typeof logLevelOption> &
  typeof logFileOptions;

export const runCommand: CommandTable<RunOptions> = {
  program: "salt-run",
  usage: "salt-run [options] <function> [arguments]",
  about: "Runs a function on the master itself, and shows its result.",
  groups: [
    { title: "", options: { ...generalOptions, ...runnerOptions } },
    { title: authenticationTitle, options: loginOptions },
    {
      title: "Output Options",
      about: outputAbout,
      options: { ...outputOptions, ...stateOutputOptions, ...displayOptions },
    },
    { title: "Logging Options", about: loggingAbout, options: { ...logLevelOption(), ...logFileOptions } },
  ],
  unavailable: [["--profiling-path"], ["--enable-profiling"]],
};
