/** The options of `saltworks key`. Source: Salt's own `salt-key --help` for names, groups and order. */
import {
  generalOptions,
  loggingAbout,
  logLevelOption,
  outputAbout,
  outputOptions,
  unavailableAuthentication,
  unavailableEverywhere,
  unavailableLogFile,
  unavailableStateOutput,
} from "./general-options.ts";
import { type CommandTable, flag, text } from "./option.ts";

const promptOptions = {
  isQuiet: flag(["-q", "--quiet"], "Taken for scripts that give it; as in Salt, it hides neither lists nor results."),
  isYes: flag(["-y", "--yes"], "Answer every question with yes."),
};

/** The order is that in which actions go before others where several are given. */
const actionOptions = {
  list: text(
    ["-l", "--list"],
    "ARG",
    "List keys of one state: 'un', 'pre' or 'unaccepted'; 'acc' or 'accepted'; 'rej' or 'rejected'; 'den' or 'denied'; or 'all'.",
  ),
  isListAll: flag(["-L", "--list-all"], "List all keys. This is what is done without any action."),
  accept: text(["-a", "--accept"], "ACCEPT", "Accept the pending keys that match this glob."),
  isAcceptAll: flag(["-A", "--accept-all"], "Accept all pending keys."),
  reject: text(["-r", "--reject"], "REJECT", "Reject the pending keys that match this glob."),
  isRejectAll: flag(["-R", "--reject-all"], "Reject all pending keys."),
  isAllIncluded: flag(["--include-all"], "Accept rejected keys or reject accepted ones too."),
  isAcceptedIncluded: flag(["--include-accepted"], "Reject accepted keys too."),
  isRejectedIncluded: flag(["--include-rejected"], "Accept rejected keys too."),
  isDeniedIncluded: flag(["--include-denied"], "Accept or reject denied keys too."),
  print: text(["-p", "--print"], "PRINT", "Print the keys that match this glob."),
  isPrintAll: flag(["-P", "--print-all"], "Print all keys."),
  delete: text(["-d", "--delete"], "DELETE", "Delete the keys that match this glob."),
  isDeleteAll: flag(["-D", "--delete-all"], "Delete all keys."),
  finger: text(["-f", "--finger"], "FINGER", "Print the fingerprints of the keys that match this glob."),
  isFingerAll: flag(["-F", "--finger-all"], "Print the fingerprints of all keys, and of the master's own."),
};

type KeyOptions = typeof generalOptions &
  typeof promptOptions &
  typeof outputOptions &
  typeof actionOptions &
  ReturnType<typeof logLevelOption>;

/** `-l` takes any word that begins with one of these. */
export const keyListPrefixes: readonly string[] = ["acc", "pre", "un", "rej", "den", "all"];

export const keyCommand: CommandTable<KeyOptions> = {
  program: "salt-key",
  usage: "salt-key [options]",
  about: "Lists, accepts, rejects and deletes the keys of minions.",
  groups: [
    { title: "", options: { ...generalOptions, ...promptOptions } },
    { title: "Output Options", about: outputAbout, options: outputOptions },
    { title: "Actions", options: actionOptions },
    { title: "Logging Options", about: loggingAbout, options: logLevelOption(["--log-level"]) },
  ],
  unavailable: [
    ...unavailableEverywhere,
    ["-u", "--user"],
    ["--hard-crash"],
    ["--rotate-aes-key"],
    ["--preserve-minions"],
    ["--auth", "--eauth", "--external-auth"],
    ...unavailableAuthentication,
    ...unavailableStateOutput,
    ["--gen-keys"],
    ["--gen-keys-dir"],
    ["--keysize"],
    ["--gen-signature"],
    ["--priv"],
    ["--signature-path"],
    ["--pub"],
    ["--auto-create"],
    ...unavailableLogFile,
  ],
};
