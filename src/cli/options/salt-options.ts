/** The options of `saltworks salt`. Source: Salt's own `salt --help` for names, groups and order. */

import { batchOptions, saferBatchOptions } from "./batch-options.ts";
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
  ownAbout,
  ownTitle,
  stateOutputOptions,
  wordOptions,
} from "./general-options.ts";
import { type CommandTable, flag, text } from "./option.ts";
import { explainOptions, previewOptions } from "./preview-options.ts";
import {
  executorOptions,
  followOptions,
  gatherOptions,
  resultOptions,
  returnerOptions,
  timeoutOptions,
} from "./salt-job-options.ts";

/** Options by the target kind that they choose. */
export const targetOptions = {
  hosts: flag(["-H", "--hosts"], "The target is a host of a roster, which only salt-ssh has: no minion matches."),
  pcre: flag(["-E", "--pcre"], "The target is a regular expression that minion ids must begin with."),
  list: flag(["-L", "--list"], "The target is a list of minion ids, separated by commas or blanks."),
  grain: flag(["-G", "--grain"], "The target is a grain and a glob for its value: 'os:Arch*'."),
  grain_pcre: flag(
    ["-P", "--grain-pcre"],
    "The target is a grain and a regular expression for its value: 'os:Arch.*'.",
  ),
  nodegroup: flag(["-N", "--nodegroup"], "The target is the name of a nodegroup of the master's configuration."),
  range: flag(
    ["-R", "--range"],
    "The target is a range expression. It needs a range server, which is not supported: no minion matches.",
  ),
  compound: flag(
    ["-C", "--compound"],
    "The target is an expression of several targets. All but globs begin with the letter of their kind: 'G@os:Debian and web* or E@db[12]'.",
  ),
  pillar: flag(["-I", "--pillar"], "The target is a pillar value and a glob for it: 'role:web*'."),
  pillar_pcre: flag(
    ["-J", "--pillar-pcre"],
    "The target is a pillar value and a regular expression for it: 'role:web.*'.",
  ),
  ipcidr: flag(["-S", "--ipcidr"], "The target is an IP address or a network."),
};

const delimiterOptions = {
  delimiter: text(["--delimiter"], "DELIMITER", "The separator between the levels of a grain or pillar. Default: ':'."),
};

/** Options without a group, in the order of Salt's help, in which options of batches and previews come between others. */
const jobOptions = {
  ...generalOptions,
  ...executorOptions,
  ...timeoutOptions,
  isStdinRead: wordOptions.isStdinRead,
  ...hardCrashOptions,
  noParse: wordOptions.noParse,
  ...followOptions,
  ...batchOptions,
  ...returnerOptions,
  ...resultOptions,
  ...previewOptions,
};

const loginOptions = authenticationOptions();

/** Options that Salt does not have. */
const ownOptions = { ...gatherOptions, ...saferBatchOptions, ...explainOptions };

const saltOptions = {
  ...jobOptions,
  ...targetOptions,
  ...delimiterOptions,
  ...outputOptions,
  ...stateOutputOptions,
  ...loginOptions,
  ...logLevelOption(),
  ...logFileOptions,
  ...ownOptions,
};

export const saltCommand: CommandTable<typeof saltOptions> = {
  program: "salt",
  usage: "salt [options] '<target>' <function> [arguments]",
  about: "Runs a function on all minions that match a target, and shows what they return.",
  groups: [
    { title: "", options: jobOptions },
    {
      title: "Target Options",
      about: "The kind of the target. Default: a glob for minion ids.",
      options: targetOptions,
      isExclusive: true,
    },
    { title: "Additional Target Options", about: "Details of targets.", options: delimiterOptions },
    { title: authenticationTitle, options: loginOptions },
    { title: "Output Options", about: outputAbout, options: { ...outputOptions, ...stateOutputOptions } },
    { title: "Logging Options", about: loggingAbout, options: { ...logLevelOption(), ...logFileOptions } },
    { title: ownTitle, about: ownAbout, options: ownOptions, isOwn: true },
  ],
  unavailable: [],
};
