/** Wheel functions `key`: minions' keys by state, under Salt's names of the states. */
import { SaltworksError } from "../../errors.ts";
import { compileGlob } from "../../python/fnmatch.ts";
import { idIsValid, openKeyDirectories } from "../../store/keys/keys.ts";
import { type KeyState, keyFolders } from "../../store/keys/states.ts";
import { generateMinionKeys, keyFingerprint, localKeyNames, readLocalKey } from "../../store/keys/text.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, listArgument, parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { changeKeys, type KeyAction, type KeyLists } from "./key-changes.ts";

const states: readonly KeyState[] = ["accepted", "pending", "rejected", "denied"];
const masterKeyFile = "master.pub";
const keyBitsDefault = 2_048;

type Listed = Map<string, readonly string[]>;

function keysOf({ config }: RunnerContext) {
  return openKeyDirectories(config.pki_dir);
}

function sorted(ids: readonly string[]): string[] {
  const folded = (id: string) => id.toLowerCase();
  return [...ids].sort((a, b) => (folded(a) < folded(b) ? -1 : folded(a) > folded(b) ? 1 : 0));
}

function listed(context: RunnerContext): Listed {
  const keys = keysOf(context);
  return new Map(states.map((state) => [keyFolders[state], sorted(keys.list(state))]));
}

function all(context: RunnerContext): Listed {
  return listed(context).set("local", localKeyNames(context.config.pki_dir));
}

/** The ids in one state, named by salt-key's word, or in all states. */
function list(context: RunnerContext, args: ValueMap): Encodable {
  const word = textArgument(args, "match");
  if (word.startsWith("all")) return all(context);
  const state = states.find((one) => wordsOf[one].some((start) => word.startsWith(start)));
  return state === undefined ? {} : { [keyFolders[state]]: sorted(keysOf(context).list(state)) };
}

const wordsOf: Readonly<Record<KeyState, readonly string[]>> = {
  accepted: ["acc"],
  pending: ["pre", "un"],
  rejected: ["rej"],
  denied: ["den"],
};

/** Ids by state that match one of the globs (a text separated by commas, or a list). States without a match are omitted. */
function matching(lists: Listed, match: Value | undefined): Listed {
  const globs = (listArgument(match) ?? []).map(compileGlob);
  const found: Listed = new Map();
  for (const [name, ids] of lists) {
    const matched = ids.filter((id) => globs.some((glob) => glob.matches(id)));
    if (matched.length > 0) found.set(name, matched);
  }
  return found;
}

/** Current states of the ids in a map of states. @throws SaltworksError FUNCTION_ARGUMENTS if it is not a map of lists */
function whereabouts(context: RunnerContext, named: Listed): Listed {
  const now = listed(context);
  const found: Listed = new Map();
  for (const id of [...named.values()].flat())
    for (const [name, ids] of now) if (ids.includes(id)) found.set(name, [...(found.get(name) ?? []), id]);
  return found;
}

function namedStates(value: Value | undefined): Listed {
  if (!(value instanceof Map))
    throw new SaltworksError("FUNCTION_ARGUMENTS", "match must be a map of states and lists of ids", {});
  return new Map([...value].map(([name, ids]) => [String(name), listArgument(ids) ?? []]));
}

/** @param include argument name of each further state whose keys change */
function change(
  action: KeyAction,
  from: readonly KeyState[],
  include: Readonly<Record<string, KeyState>>,
  isMap: boolean,
): RunnerFunction {
  const run: RunnerFunction["run"] = async (context, args) => {
    const match = args.get("match");
    const asked = isMap ? namedStates(match) : matching(listed(context), match);
    const extra = Object.entries(include).flatMap(([name, state]) => (isGivenTrue(args, name) ? [state] : []));
    const lists: KeyLists = new Map([...from, ...extra].map((state) => [state, asked.get(keyFolders[state]) ?? []]));
    await changeKeys(context, keysOf(context), action, lists);
    return isMap ? whereabouts(context, asked) : matching(listed(context), match);
  };
  const what = isMap ? "a map of states and ids" : "a glob, or a list of ids";
  const past = { accept: "Accepts", reject: "Rejects", delete: "Deletes" }[action];
  return {
    parameters: parametersOf("match!", ...Object.keys(include)),
    doc: `${past} keys, named by ${what}; answers with their states afterwards.`,
    run,
  };
}

function texts(context: RunnerContext, lists: Listed, show: (pem: string) => string): Encodable {
  const keys = keysOf(context);
  const shown = new Map<string, Encodable>();
  for (const [name, ids] of lists) {
    const state = states.find((one) => keyFolders[one] === name);
    const textOf = (id: string) => (state ? (keys.read(state, id) ?? "") : readLocalKey(context.config.pki_dir, id));
    shown.set(name, new Map(ids.map((id) => [id, show(textOf(id))])));
  }
  return shown;
}

/** Includes the master's own files if the glob matches their names, as salt-key does. */
function finger(context: RunnerContext, args: ValueMap): Encodable {
  const hash = textArgument(args, "hash_type", context.config.hash_type);
  return texts(context, matching(all(context), args.get("match")), (pem) => keyFingerprint(pem, hash));
}

async function generate(args: ValueMap): Promise<{ priv: string; pub: string }> {
  const { privatePem, publicPem } = await generateMinionKeys(Number(args.get("keysize") ?? keyBitsDefault));
  return { priv: privatePem, pub: publicPem };
}

async function generateAccepted(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const id = textArgument(args, "id_");
  if (!idIsValid(id)) throw new SaltworksError("FUNCTION_ARGUMENTS", "not a valid minion id", {});
  const keys = keysOf(context);
  if (keys.read("accepted", id) !== undefined && !isGivenTrue(args, "force")) return {};
  const pair = await generate(args);
  keys.write("accepted", id, pair.pub);
  return pair;
}

const accepted: readonly KeyState[] = ["pending"];
const includedInAccept = { include_rejected: "rejected", include_denied: "denied" } as const;
const includedInReject = { include_accepted: "accepted", include_denied: "denied" } as const;
const match = parametersOf("match!");

export const keyWheel: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "key.list",
    {
      parameters: match,
      doc: "Ids in a state: accepted, pre, rejected, denied or all.",
      shortName: "list_",
      run: list,
    },
  ],
  ["key.list_all", { parameters: [], doc: "Ids by state, and the master's own key files.", run: all }],
  [
    "key.name_match",
    {
      parameters: match,
      doc: "Ids by state that match a glob, or one of several globs.",
      run: (context, args) => matching(listed(context), args.get("match")),
    },
  ],
  ["key.accept", change("accept", accepted, includedInAccept, false)],
  ["key.accept_dict", change("accept", accepted, includedInAccept, true)],
  ["key.reject", change("reject", ["pending"], includedInReject, false)],
  ["key.reject_dict", change("reject", ["pending"], includedInReject, true)],
  ["key.delete", change("delete", states, {}, false)],
  ["key.delete_dict", change("delete", states, {}, true)],
  [
    "key.finger",
    {
      parameters: parametersOf("match!", "hash_type"),
      doc: "Fingerprints of the keys that match a glob.",
      run: finger,
    },
  ],
  [
    "key.finger_master",
    {
      parameters: parametersOf("hash_type"),
      doc: "The fingerprint of the master's public key.",
      run: (context, args) => {
        const hash = textArgument(args, "hash_type", context.config.hash_type);
        return {
          local: { [masterKeyFile]: keyFingerprint(readLocalKey(context.config.pki_dir, masterKeyFile), hash) },
        };
      },
    },
  ],
  [
    "key.print",
    {
      parameters: match,
      doc: "Texts of the keys that match a glob.",
      shortName: "key_str",
      run: (context, args) => texts(context, matching(listed(context), args.get("match")), (pem) => pem),
    },
  ],
  [
    "key.master_key_str",
    {
      parameters: [],
      doc: "The text of the master's public key.",
      run: ({ config }) => ({ local: { [masterKeyFile]: readLocalKey(config.pki_dir, masterKeyFile) } }),
    },
  ],
  [
    "key.gen",
    {
      parameters: parametersOf("id_", "keysize"),
      doc: "A new pair of keys, which the master does not keep.",
      run: (_, args) => generate(args),
    },
  ],
  [
    "key.gen_accept",
    {
      parameters: parametersOf("id_!", "keysize", "force"),
      doc: "A new pair of keys; its public key is accepted for this id. Without force=True it does nothing if the id already has an accepted key.",
      run: generateAccepted,
    },
  ],
]);
