/** The options of `saltworks salt` for sending and following a job, in Salt's order. */
import { flag, int, text } from "./option.ts";

/** Options whose values are sent with the job. */
export const executorOptions = {
  moduleExecutors: text(
    ["--module-executors"],
    "EXECUTOR_LIST",
    "The executors that minions use instead of those in their configuration: a list in YAML, '[direct_call]'.",
  ),
  executorOpts: text(
    ["--executor-opts"],
    "EXECUTOR_OPTS",
    "Options of these executors instead of those in the minions' configuration: a map in YAML.",
  ),
};

export const timeoutOptions = {
  timeoutSeconds: int(
    ["-t", "--timeout"],
    "TIMEOUT",
    "Seconds after which silent minions are asked whether they still run the job. Default: the configured timeout, 5.",
  ),
};

export const followOptions = {
  isStatic: flag(["-s", "--static"], "Show all returns together at the end."),
  isProgressShown: flag(
    ["-p", "--progress"],
    "Show a bar of minions targeted, running, returned and failed on the terminal, and the summary at the end; returns only with --out.",
  ),
  isFailHard: flag(["--failhard"], "With -b: start no more minions after the first that fails."),
  isAsync: flag(["--async"], "Send the job, show its id and do not wait for returns."),
  subset: int(
    ["--subset"],
    "SUBSET",
    "Run the function on this many minions of the target, chosen at random among the minions that have it.",
  ),
  isVerbose: flag(["-v", "--verbose"], "Show the job's id first, and more in the summary."),
  isTimeoutHidden: flag(["--hide-timeout"], "Do not show minions that did not return."),
  isJidShown: flag(["--show-jid"], "Show the job's id first."),
};

export const returnerOptions = {
  returner: text(
    ["--return"],
    "RETURNER",
    "Minions send their result to these returners, too: names separated by commas.",
  ),
  returnConfig: text(
    ["--return_config"],
    "RETURNER_CONF",
    "The alternative set of settings that returners take from the minions' configuration.",
  ),
  returnKwargs: text(
    ["--return_kwargs"],
    "RETURNER_KWARGS",
    "Settings of returners that win over those in the minions' configuration: a map in YAML.",
  ),
};

export const resultOptions = {
  isDocAsked: flag(
    ["-d", "--doc", "--documentation"],
    "Show the documentation of a function, a module or all functions, from the minions of the target.",
  ),
  argsSeparator: text(
    ["--args-separator"],
    "ARGS_SEPARATOR",
    "The word that separates the arguments of several functions, for arguments that need commas. Default: ','.",
  ),
  isSummaryShown: flag(
    ["--summary"],
    "Show the numbers of minions that returned, failed and stayed silent at the end.",
  ),
  metadata: text(
    ["--metadata"],
    "METADATA",
    "Metadata that is stored with the job and sent to the minions, for searches of jobs: a map in YAML.",
  ),
  isStateDiffOnly: flag(["--output-diff"], "Show only states that changed something."),
  isConfigDumped: flag(["--config-dump"], "Show the master's configuration with all defaults and exit."),
};

/** Options that Salt does not have. */
export const gatherOptions = {
  deliverWithin: text(
    ["--deliver-within"],
    "TIME",
    "Minions that are away get the job when they come back, if they do so within this time: 90s, 30m, 2h, 1d. 'saltworks run jobs.pending' shows jobs that wait.",
  ),
  gatherJobTimeoutSeconds: int(
    ["--gather-job-timeout"],
    "GATHER_JOB_TIMEOUT",
    "Seconds that minions have to answer whether they run the job. Default: the configured gather_job_timeout, 10.",
  ),
};
