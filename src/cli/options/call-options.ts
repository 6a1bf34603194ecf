/** The options of `saltworks call`. Source: Salt's own `salt-call --help` for names, groups and order. */
import {
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
import { type CommandTable, flag, int, text, texts } from "./option.ts";

const callOptions = {
  cachedir: text(["--cachedir"], "CACHEDIR", "The cache directory to use instead of the configured one."),
  isStdinRead: wordOptions.isStdinRead,
  ...hardCrashOptions,
  noParse: wordOptions.noParse,
  isGrainsAsked: flag(["-g", "--grains"], "Show this machine's grains."),
  moduleDirs: texts(
    ["-m", "--module-dirs"],
    "MODULE_DIRS",
    "Another directory with modules: files NAME.mjs, whose exported functions are NAME.function. May be given several times.",
  ),
  isDocAsked: flag(
    ["-d", "--doc", "--documentation"],
    "Show the documentation of a function, a module or all functions.",
  ),
  master: text(
    ["--master"],
    "MASTER",
    "The master to use instead of the configured one. It must have accepted this minion's key.",
  ),
  returner: text(["--return"], "RETURNER", "Send the result to these returners, too: names separated by commas."),
  isLocal: flag(["--local"], "Run the function as if there were no master."),
  fileRoot: text(["--file-root"], "FILE_ROOT", "With --local: the directory of the environment base's files."),
  pillarRoot: text(["--pillar-root"], "PILLAR_ROOT", "With --local: the directory of the environment base's pillar."),
  statesDir: text(["--states-dir"], "STATES_DIR", "With --local: a directory of further state modules."),
  isRetcodePassed: flag(["--retcode-passthrough"], "Exit with the function's own code instead of 1 if it fails."),
  isMetadataShown: flag(["--metadata"], "Show job id, function, arguments and code around the result."),
  metadata: text(
    ["--set-metadata"],
    "METADATA",
    "Metadata that is sent with the result, for searches of jobs: a map in YAML.",
  ),
  id: text(["--id"], "ID", "The minion id to use instead of the configured one."),
  isSkippingGrains: flag(["--skip-grains"], "Collect no grains but the id."),
  isGrainsCacheRefreshed: flag(
    ["--refresh-grains-cache"],
    "Accepted for scripts. Every call collects grains anyway, because they are not cached.",
  ),
  isReturnEventOff: flag(["--no-return-event"], "Do not send the result to the master."),
  authTimeoutSeconds: int(
    ["-t", "--timeout"],
    "AUTH_TIMEOUT",
    "Seconds to wait for the master's answer to the authentication. Default: the configured auth_timeout, 5.",
  ),
  isStateDiffOnly: flag(["--output-diff"], "Show only states that changed something."),
  user: text(["--priv"], "USER", "Run the function as this user."),
};

type CallOptions = typeof generalOptions &
  typeof callOptions &
  typeof outputOptions &
  typeof stateOutputOptions &
  ReturnType<typeof logLevelOption> &
  typeof logFileOptions;

export const callCommand: CommandTable<CallOptions> = {
  program: "salt-call",
  usage: "salt-call [options] <function> [arguments]",
  about: "Runs a function on this machine, in its own process, with the minion's configuration and key.",
  groups: [
    { title: "", options: { ...generalOptions, ...callOptions } },
    { title: "Output Options", about: outputAbout, options: { ...outputOptions, ...stateOutputOptions } },
    { title: "Logging Options", about: loggingAbout, options: { ...logLevelOption(), ...logFileOptions } },
  ],
  unavailable: [
    ["--proxyid"],
    ["--module-executors"],
    ["--executor-opts"],
    ["--profiling-path"],
    ["--enable-profiling"],
  ],
};
