/** Options of several commands: general, output and logging options in Salt's order. */
import { outputterNames } from "../outputters/render.ts";
import { choice, flag, int, text } from "./option.ts";

/** The first options of most commands. The parser itself answers the first three. */
export const generalOptions = {
  isVersionAsked: flag(["--version"], "Show the version and exit."),
  isVersionsAsked: flag(["-V", "--versions-report"], "Show the versions of this program and its parts and exit."),
  isHelpAsked: flag(["-h", "--help"], "Show this help and exit."),
  saltfile: text(
    ["--saltfile"],
    "SALTFILE",
    "Take options that are not given here from this file. Default: 'Saltfile' in the working directory, then '~/.salt/Saltfile'.",
  ),
  configDir: text(
    ["-c", "--config-dir"],
    "CONFIG_DIR",
    "Read the configuration in this directory. Default: '/etc/salt'.",
  ),
};

/** Options of every command that takes a function and its arguments. */
export const wordOptions = {
  isStdinRead: flag(["--args-stdin"], "Read more options and arguments from standard input, one a line."),
  noParse: text(
    ["--no-parse"],
    "argname1,argname2,...",
    "Keyword arguments, separated by commas, whose values stay text.",
  ),
};

export const hardCrashOptions = {
  isHardCrash: flag(["--hard-crash"], "Show an error with its place in the program instead of one line."),
};

/** Title of the group of options that Salt's command lacks. */
export const ownTitle = "Saltworks Options";
export const ownAbout = "Options that Salt does not have.";

const outputters = outputterNames.filter((name) => name !== "text").join(", ");

/** Options for the display of results. */
export const outputOptions = {
  output: text(["--out", "--output"], "OUTPUT", `Show results with this outputter: ${outputters}.`),
  outputIndent: int(
    ["--out-indent", "--output-indent"],
    "OUTPUT_INDENT",
    "Columns a level, for outputters that indent. A negative number puts a result on one line.",
  ),
  outputFile: text(
    ["--out-file", "--output-file"],
    "OUTPUT_FILE",
    "Write results to this file instead of the terminal.",
  ),
  isOutputFileAppended: flag(["--out-file-append", "--output-file-append"], "Append to the output file."),
  isColourOff: flag(["--no-color", "--no-colour"], "Show no colours."),
  isColourForced: flag(["--force-color", "--force-colour"], "Show colours even if the output is not a terminal."),
};

/** Options for the display of state runs. */
export const stateOutputOptions = {
  stateOutput: text(
    ["--state-output", "--state_output"],
    "STATE_OUTPUT",
    "How much of each state is shown: 'full', 'terse', 'mixed', 'changes' or 'filter', instead of the configured state_output.",
  ),
  stateVerbose: text(
    ["--state-verbose", "--state_verbose"],
    "STATE_VERBOSE",
    "True or False: whether states that changed nothing are shown, instead of the configured state_verbose.",
  ),
};

export const outputAbout = "How results are shown.";
export const loggingAbout = "Settings of the log. They win over the configuration.";

/** In the order of Salt's message about an unknown level. */
const logLevels = ["all", "debug", "error", "critical", "garbage", "info", "profile", "quiet", "trace", "warning"];
/** Most talkative first. */
const logFileLevels = ["all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet"];
const logLevelList = logFileLevels.map((level) => `'${level}'`).join(", ");
const insecure = "The levels all, garbage, trace, debug and profile may log sensitive data.";

/** `names`: without `-l` for `salt-key`, where `-l` lists keys. */
export function logLevelOption(names: readonly [string, ...string[]] = ["-l", "--log-level"]) {
  const about = `Level of the log on the terminal, one of ${logLevelList}. Default: 'warning'. ${insecure}`;
  return { logLevel: choice(names, "LOG_LEVEL", logLevels, about) };
}

/** Options of the log file. */
export const logFileOptions = {
  logFile: text(["--log-file"], "LOG_FILE", "The file that the log is written to."),
  logFileLevel: choice(
    ["--log-file-level"],
    "LOG_LEVEL_LOGFILE",
    logFileLevels,
    `Level of the log in the file, one of ${logLevelList}. Default: that of the terminal. ${insecure}`,
  ),
};

/** Title of the group of login options in help, as in Salt. */
export const authenticationTitle = "External Authentication";
export function authenticationOptions(
  names: readonly [string, ...string[]] = ["-a", "--auth", "--eauth", "--external-auth"],
) {
  return {
    eauth: text(names, "EAUTH", "Log in as a user of this eauth system, instead of the user of this machine."),
    isTokenMade: flag(
      ["-T", "--make-token"],
      "Keep a token in a file, so that the next commands need no password until it expires.",
    ),
    username: text(["--username"], "USERNAME", "The user's name for that system. Asked for if it is not given."),
    password: text(
      ["--password"],
      "PASSWORD",
      "The user's password. Other users of this machine can see it in the list of processes. Asked for if it is not given.",
    ),
  };
}
