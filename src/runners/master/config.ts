/** Runners `config` and `error`: the master's configuration, and an error on demand. */
import { SaltworksError } from "../../errors.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";

/** Names of secrets that plug-ins read, such as passwords, in addition to options marked as secret. */
const secretNames = /pass|pw$|secret|private_key|token$/i;
/** The same below an option, where names of the operator's own, such as nodegroups, stand too. */
const innerSecretNames = /(?:password|passwd|pw|secret|private_key|token)$/i;
const hidden = "**********";

/** The configuration as values, without secrets. */
export function configValues(context: RunnerContext): ValueMap {
  const shown = [...context.config.opts].map(([name, value]) => [
    name,
    secretNames.test(name) && value ? hidden : withoutSecrets(value),
  ]);
  return decode(encode(new Map(shown as [Encodable, Encodable][]), "bin")) as ValueMap;
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    innerSecretNames.test(name) && member ? hidden : withoutSecrets(member),
  ]);
  return Object.fromEntries(entries);
}

/** Follows a path through maps and lists. In a list, a word that is not an index selects the first member map with that key. */
export function traverse(root: Value, path: string, delimiter: string): Value | undefined {
  let value: Value | undefined = root;
  for (const word of path.split(delimiter)) value = value === undefined ? undefined : step(value, word);
  return value;
}

function step(value: Value, word: string): Value | undefined {
  if (value instanceof Map) return value.get(word) ?? value.get(Number(word));
  if (!Array.isArray(value)) return undefined;
  const index = Number(word);
  if (Number.isInteger(index) && word.trim() !== "") return value.at(index);
  return value.find((member): member is ValueMap => member instanceof Map && member.has(word))?.get(word);
}

function get(context: RunnerContext, args: ValueMap): Encodable {
  const found = traverse(configValues(context), textArgument(args, "key"), textArgument(args, "delimiter", ":"));
  return found ?? args.get("default") ?? "";
}

function raise(_: RunnerContext, args: ValueMap): Encodable {
  const name = args.get("name") ?? null;
  if (name === null) return {};
  throw new SaltworksError("FUNCTION_FAILED", `${String(name)}: ${textArgument(args, "message")}`, {});
}

export const errorFunction: RunnerFunction = {
  parameters: parametersOf("name", "message"),
  doc: "Fails with an exception of this name and message; without a name it returns an empty map.",
  isOffline: true,
  run: raise,
};

export const configRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "config.get",
    {
      parameters: parametersOf("key!", "default", "delimiter"),
      doc: "An option of the master's configuration; parts of a path are joined by colons.",
      isOffline: true,
      run: get,
    },
  ],
  ["error.error", errorFunction],
]);
