/** The options of `saltworks salt`. Source: Salt's own `salt --help` for names, groups and order. */
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
import { type CommandTable, flag, int, text } from "./option.ts";

const jobOptions = {
  timeoutSeconds: int(
    ["-t", "--timeout"],
    "TIMEOUT",
    "Seconds after which silent minions are asked whether they still run the job. Default: the configured timeout, 5.",
  ),
  gatherJobTimeoutSeconds: int(
    ["--gather-job-timeout"],
    "GATHER_JOB_TIMEOUT",
    "Seconds that minions have to answer that question. Default: the configured gather_job_timeout, 10.",
  ),
  ...wordOptions,
  isStatic: flag(["-s", "--static"], "Show all returns together once they are there."),
  isAsync: flag(["--async"], "Send the job, show its id and do not wait for returns."),
  isVerbose: flag(["-v", "--verbose"], "Show the job's id first, and more in the summary."),
  isTimeoutHidden: flag(["--hide-timeout"], "Do not show minions that did not return."),
  isJidShown: flag(["--show-jid"], "Show the job's id first."),
  argsSeparator: text(
    ["--args-separator"],
    "ARGS_SEPARATOR",
    "The word that stands between the arguments of several functions, where commas are needed in arguments. Default: ','.",
  ),
  isSummaryShown: flag(
    ["--summary"],
    "Show the numbers of minions that returned, failed and stayed silent at the end.",
  ),
  isStateDiffOnly: flag(["--output-diff"], "Show only states that changed something."),
};

/** The key of each is the target kind that it chooses. */
export const targetOptions = {
  pcre: flag(["-E", "--pcre"], "The target is a regular expression that minion ids must begin with."),
  list: flag(["-L", "--list"], "The target is a list of minion ids, separated by commas or blanks."),
  grain: flag(["-G", "--grain"], "The target is a grain and a glob for its value: 'os:Arch*'."),
  grain_pcre: flag(
    ["-P", "--grain-pcre"],
    "The target is a grain and a regular expression for its value: 'os:Arch.*'.",
  ),
  compound: flag(
    ["-C", "--compound"],
    "The target is an expression of several targets, each but globs with the letter of its kind: 'G@os:Debian and web* or E@db[12]'.",
  ),
  pillar: flag(["-I", "--pillar"], "The target is a pillar value and a glob for it: 'role:web*'."),
  pillar_pcre: flag(
    ["-J", "--pillar-pcre"],
    "The target is a pillar value and a regular expression for it: 'role:web.*'.",
  ),
  ipcidr: flag(["-S", "--ipcidr"], "The target is an IP address or a network."),
};

const delimiterOptions = {
  delimiter: text(["--delimiter"], "DELIMITER", "What stands between the levels of a grain or pillar. Default: ':'."),
};

type SaltOptions = typeof generalOptions &
  typeof jobOptions &
  typeof targetOptions &
  typeof delimiterOptions &
  typeof outputOptions &
  typeof stateOutputOptions &
  ReturnType<typeof logLevelOption>;

export const saltCommand: CommandTable<SaltOptions> = {
  program: "salt",
  usage: "salt [options] '<target>' <function> [arguments]",
  about: "Runs a function on all minions that match a target, and shows what they return.",
  groups: [
    { title: "", options: { ...generalOptions, ...jobOptions } },
    {
      title: "Target Options",
      about: "What kind of target is given; a glob for minion ids without any.",
      options: targetOptions,
      isExclusive: true,
    },
    { title: "Additional Target Options", about: "Details of targets.", options: delimiterOptions },
    { title: "Output Options", about: outputAbout, options: { ...outputOptions, ...stateOutputOptions } },
    { title: "Logging Options", about: loggingAbout, options: logLevelOption() },
  ],
  unavailable: [
    ...unavailableEverywhere,
    ["--module-executors"],
    ["--executor-opts"],
    ["--hard-crash"],
    ["-p", "--progress"],
    ["--failhard"],
    ["--subset"],
    ["-b", "--batch", "--batch-size"],
    ["--batch-wait"],
    ["--batch-safe-limit"],
    ["--batch-safe-size"],
    ["--return"],
    ["--return_config"],
    ["--return_kwargs"],
    ["-d", "--doc", "--documentation"],
    ["--metadata"],
    ["--config-dump"],
    ["--preview-target"],
    ["-H", "--hosts"],
    ["-N", "--nodegroup"],
    ["-R", "--range"],
    ["-a", "--auth", "--eauth", "--external-auth"],
    ...unavailableAuthentication,
    ...unavailableLogFile,
  ],
};
