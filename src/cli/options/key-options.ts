/** The options of `saltworks key`. Source: Salt's own `salt-key --help` for names, groups and order. */
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
} from "./general-options.ts";
import { type CommandTable, flag, int, mainName, text } from "./option.ts";

/** Without the name `-a`, which accepts keys here. */
const loginOptions = authenticationOptions(["--auth", "--eauth", "--external-auth"]);

const userOptions = {
  user: text(["-u", "--user"], "USER", "Run as this user, who owns new key files."),
};

const promptOptions = {
  isQuiet: flag(["-q", "--quiet"], "Accepted for scripts. As in Salt, it hides neither lists nor results."),
  isYes: flag(["-y", "--yes"], "Answer every question with yes."),
  rotateAesKey: text(
    ["--rotate-aes-key"],
    "ROTATE_AES_KEY",
    "False: the master keeps its AES key when keys are deleted or rejected, so that these minions can still read its publishes. Default: the configured rotate_aes_key, True.",
  ),
  preserveMinions: text(
    ["--preserve-minions"],
    "PRESERVE_MINIONS",
    "True: the master keeps the grains, pillar and mine of minions whose keys are deleted. Default: the configured preserve_minion_cache, False.",
  ),
};

const actionOptions = {
  list: text(
    ["-l", "--list"],
    "ARG",
    "List keys of one state: 'un', 'pre' or 'unaccepted'; 'acc' or 'accepted'; 'rej' or 'rejected'; 'den' or 'denied'; or 'all'.",
  ),
  isListAll: flag(["-L", "--list-all"], "List all keys. This is the default action."),
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

const generationOptions = {
  generatedName: text(["--gen-keys"], "GEN_KEYS", "Make a key pair of this name: NAME.pem and NAME.pub."),
  generatedDir: text(
    ["--gen-keys-dir"],
    "GEN_KEYS_DIR",
    "The directory for that pair, made if it is missing. Default: '.'.",
  ),
  keySizeBits: int(
    ["--keysize"],
    "KEYSIZE",
    "Size of new keys, in bits: 2048 to 32768. Default: the configured keysize, 2048.",
  ),
  isSignatureAsked: flag(
    ["--gen-signature"],
    "Sign the master's public key, for minions that ask for a signature of it: writes master_pubkey_signature. This needs a separate signing key pair, see --auto-create.",
  ),
  signingKeyFile: text(["--priv"], "PRIV", "The private key to sign with. Default: the master's signing key."),
  signatureDir: text(["--signature-path"], "SIGNATURE_PATH", "The directory for the signature. Default: pki_dir."),
  signedKeyFile: text(["--pub"], "PUB", "The public key to sign. Default: the master's."),
  isSigningKeyMade: flag(["--auto-create"], "Make a signing key pair if none exists."),
};

type KeyOptions = typeof generalOptions &
  typeof userOptions &
  typeof hardCrashOptions &
  typeof promptOptions &
  typeof loginOptions &
  typeof outputOptions &
  typeof stateOutputOptions &
  typeof actionOptions &
  typeof generationOptions &
  ReturnType<typeof logLevelOption> &
  typeof logFileOptions;

/** `-l` accepts any word that begins with one of these. */
const listPrefixes: readonly string[] = ["acc", "pre", "un", "rej", "den", "all"];
/** The smallest and largest key that Salt makes, in bits. */
const sizeBitsMin = 2_048;
const sizeBitsMax = 32_768;

/** Checks the values. Returns the first fault, in Salt's words if Salt checks it too. */
export function keyFault(values: ReadonlyMap<string, unknown>, positionals: readonly string[]): string | undefined {
  const list = values.get("list");
  if (typeof list === "string" && list !== "" && !listPrefixes.some((prefix) => list.startsWith(prefix))) {
    return `'${list}' is not a valid argument to '--list'`;
  }
  const bits = Number(values.get("keySizeBits") ?? sizeBitsMin);
  if (bits < sizeBitsMin) return `The minimum value for keysize is ${sizeBitsMin}`;
  if (bits > sizeBitsMax) return `The maximum value for keysize is ${sizeBitsMax}`;
  for (const [key, option] of [
    ["rotateAesKey", promptOptions.rotateAesKey],
    ["preserveMinions", promptOptions.preserveMinions],
  ] as const) {
    const word = values.get(key);
    if (typeof word === "string" && !["true", "false"].includes(word.toLowerCase())) {
      return `option ${mainName(option)}: invalid value: '${word}' (choose from 'True', 'False')`;
    }
    if (word !== undefined && values.has("eauth"))
      return `option ${mainName(option)}: with --auth the master's configuration decides`;
  }
  if (values.has("isDeleteAll") && positionals.length > 0) {
    return "Delete all takes no arguments. Use -d to delete specified keys";
  }
  return undefined;
}

export const keyCommand: CommandTable<KeyOptions> = {
  program: "salt-key",
  usage: "salt-key [options]",
  about: "Lists, accepts, rejects and deletes the keys of minions, and makes key pairs.",
  groups: [
    { title: "", options: { ...generalOptions, ...userOptions, ...hardCrashOptions, ...promptOptions } },
    { title: authenticationTitle, options: loginOptions },
    { title: "Output Options", about: outputAbout, options: { ...outputOptions, ...stateOutputOptions } },
    { title: "Actions", options: actionOptions },
    { title: "Key Generation Options", options: generationOptions },
    {
      title: "Logging Options",
      about: loggingAbout,
      options: { ...logLevelOption(["--log-level"]), ...logFileOptions },
    },
  ],
  unavailable: [],
};
