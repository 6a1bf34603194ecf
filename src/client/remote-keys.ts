/**
 * Manages minions' keys through a master's wheel functions, for users without access to the key directories. An eauth system grants them these
 * functions. Source: Salt's KeyCLI with `--auth`, docs/external-auth.md.
 */
import { SaltworksError } from "../errors.ts";
import type { Encodable, ValueMap } from "../wire/values.ts";
import {
  type KeyAction,
  type KeyActions,
  type KeyLists,
  type KeyState,
  type KeyTexts,
  listedStates,
  stateName,
} from "./key-admin.ts";
import type { MasterClient } from "./master-client.ts";

const localName = "local";
/** Arguments of `key.accept_dict` and `key.reject_dict`. Without them, the functions skip keys in these states. */
const includingStates = {
  include_accepted: "accepted",
  include_rejected: "rejected",
  include_denied: "denied",
} as const satisfies Readonly<Record<string, KeyState>>;
const includedBy: Readonly<Record<KeyAction, readonly (keyof typeof includingStates)[]>> = {
  accept: ["include_rejected", "include_denied"],
  reject: ["include_accepted", "include_denied"],
  delete: [],
};

/** Every method throws AUTH_FAILED, REQUEST_TIMEOUT, REQUEST_REFUSED. */
export class RemoteKeys implements KeyActions {
  /** The key directories are the master's concern, so they count as present. */
  readonly isThere = true;
  readonly #client: Pick<MasterClient, "wheel">;

  constructor(client: Pick<MasterClient, "wheel">) {
    this.#client = client;
  }

  async list(states: readonly KeyState[] = listedStates): Promise<KeyLists> {
    const all = listsOf(await this.#ask("key.list_all", {}));
    return new Map(states.map((state) => [state, all.get(state) ?? []]));
  }

  async match(glob: string): Promise<KeyLists> {
    return listsOf(await this.#ask("key.name_match", { match: glob }));
  }

  async whereabouts(keys: KeyLists): Promise<KeyLists> {
    const wanted = new Set([...keys.values()].flat());
    const now = [...(await this.list())].map(([state, ids]) => [state, ids.filter((id) => wanted.has(id))] as const);
    return new Map(now.filter(([, ids]) => ids.length > 0));
  }

  async texts(keys: KeyLists): Promise<KeyTexts> {
    return textsOf(await this.#ask("key.print", { match: [...keys.values()].flat() }), keys);
  }

  async fingerprints(keys: KeyLists): Promise<KeyTexts> {
    return textsOf(await this.#ask("key.finger", { match: [...keys.values()].flat() }), keys);
  }

  async localFingerprints(glob: string): Promise<ReadonlyMap<string, string>> {
    const local = (await this.#ask("key.finger", { match: glob })).get(localName);
    return new Map(local instanceof Map ? [...local].map(([name, text]) => [String(name), String(text)]) : []);
  }

  /** The master's configuration decides whether it makes a new AES key and whether it keeps its data about deleted minions. */
  async apply(action: KeyAction, keys: KeyLists): Promise<string[]> {
    const match = new Map<Encodable, Encodable>([...keys].map(([state, ids]) => [stateName(state), [...ids]]));
    const included = includedBy[action].filter((name) => keys.has(includingStates[name]));
    await this.#ask(`key.${action}_dict`, { match, ...Object.fromEntries(included.map((name) => [name, true])) });
    if (action !== "accept") return [];
    const accepted = new Set((await this.list()).get("accepted"));
    return [...keys.values()].flat().filter((id) => !accepted.has(id));
  }

  async #ask(fun: string, kwargs: { readonly [name: string]: Encodable }): Promise<ValueMap> {
    const { value, isSuccess } = await this.#client.wheel(fun, kwargs);
    if (isSuccess && value instanceof Map) return value;
    throw new SaltworksError("REQUEST_REFUSED", isSuccess ? `the answer of ${fun} is not a map` : String(value), {
      fun,
    });
  }
}

function listsOf(named: ValueMap): KeyLists {
  return new Map(
    listedStates.flatMap((state): [KeyState, string[]][] => {
      const ids = named.get(stateName(state));
      return Array.isArray(ids) ? [[state, ids.map(String)]] : [];
    }),
  );
}

/** Keeps only the requested keys, because an id can have keys in several states. */
function textsOf(named: ValueMap, keys: KeyLists): KeyTexts {
  return new Map(
    [...keys].map(([state, ids]) => {
      const texts = named.get(stateName(state));
      const known = texts instanceof Map ? texts : new Map();
      return [state, new Map(ids.filter((id) => known.has(id)).map((id) => [id, String(known.get(id))]))];
    }),
  );
}
