/** The options of `saltworks cp`. Source: Salt's own `salt-cp --help` for names, groups and order. */
import {
  generalOptions,
  hardCrashOptions,
  logFileOptions,
  loggingAbout,
  logLevelOption,
  outputAbout,
  outputOptions,
  stateOutputOptions,
} from "./general-options.ts";
import { type CommandTable, flag, text } from "./option.ts";
import { timeoutOptions } from "./salt-job-options.ts";
import { targetOptions } from "./salt-options.ts";

/** Options by the target kind that they choose. As in Salt, `-C` for compound targets and some others are missing. */
export const copyTargetOptions = {
  hosts: targetOptions.hosts,
  pcre: targetOptions.pcre,
  list: targetOptions.list,
  grain: targetOptions.grain,
  grain_pcre: targetOptions.grain_pcre,
  nodegroup: targetOptions.nodegroup,
  range: targetOptions.range,
};

const delimiterOptions = {
  delimiter: text(["--delimiter"], "DELIMITER", "The separator between the levels of a grain. Default: ':'."),
};

const fileOptions = {
  isChunked: flag(
    ["-C", "--chunked"],
    "Send files in pieces, a job for each: for files of any size and content, and for whole directories. Missing directories are made.",
  ),
  isCompressionOff: flag(["-n", "--no-compression"], "Do not compress the pieces."),
};

type CpOptions = typeof generalOptions &
  typeof timeoutOptions &
  typeof hardCrashOptions &
  typeof copyTargetOptions &
  typeof delimiterOptions &
  typeof outputOptions &
  typeof stateOutputOptions &
  typeof fileOptions &
  ReturnType<typeof logLevelOption> &
  typeof logFileOptions;

export const cpCommand: CommandTable<CpOptions> = {
  program: "salt-cp",
  usage: "salt-cp [options] '<target>' SOURCE DEST",
  about:
    "Copies files of this machine to minions. Without --chunked, one job carries all files whole: for configuration files and other texts, not for large files.",
  groups: [
    { title: "", options: { ...generalOptions, ...timeoutOptions, ...hardCrashOptions } },
    {
      title: "Target Options",
      about: "The kind of the target. Default: a glob for minion ids.",
      options: copyTargetOptions,
      isExclusive: true,
    },
    { title: "Additional Target Options", about: "Details of targets.", options: delimiterOptions },
    { title: "Output Options", about: outputAbout, options: { ...outputOptions, ...stateOutputOptions } },
    { title: "File Options", options: fileOptions },
    { title: "Logging Options", about: loggingAbout, options: { ...logLevelOption(), ...logFileOptions } },
  ],
  unavailable: [],
};
