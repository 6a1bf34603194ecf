/**
 * Lists and changes minions' keys in the key directories, which works while the master is down.
 * A running master sees a change within 1 s. Each change is also sent to the event bus.
 * Source: docs/protocol.md sections 6.3 and 10.3.
 */
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { fingerprint, loadPublicKey } from "../crypto/pem.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { compileGlob } from "../python/fnmatch.ts";
import { setKeepMarks } from "../store/keys/keep-marks.ts";
import { type KeyDirectories, type KeyState, openKeyDirectories, writeDropfile } from "../store/keys/keys.ts";
import { keyFolders } from "../store/keys/states.ts";
import { fireEvents } from "../transport/event-stream-client.ts";
import { encodeEvent } from "../wire/event.ts";

export type { KeyState };
export type KeyAction = "accept" | "reject" | "delete";
/** Ids by state, in Salt's order of states. A state that was not asked for is absent. */
export type KeyLists = ReadonlyMap<KeyState, readonly string[]>;
/** Texts or fingerprints by state and id. */
export type KeyTexts = ReadonlyMap<KeyState, ReadonlyMap<string, string>>;

/** Salt's order of states. */
export const listedStates: readonly KeyState[] = ["accepted", "pending", "rejected", "denied"];

/** Operations on keys: on this machine's key directories or through a master. */
export type KeyActions = {
  readonly isThere: boolean;
  list(states?: readonly KeyState[]): KeyLists | Promise<KeyLists>;
  match(glob: string): KeyLists | Promise<KeyLists>;
  whereabouts(keys: KeyLists): KeyLists | Promise<KeyLists>;
  texts(keys: KeyLists): KeyTexts | Promise<KeyTexts>;
  fingerprints(keys: KeyLists): KeyTexts | Promise<KeyTexts>;
  localFingerprints(glob: string): ReadonlyMap<string, string> | Promise<ReadonlyMap<string, string>>;
  apply(action: KeyAction, keys: KeyLists, options: KeyChangeOptions): Promise<string[]>;
};
export type KeyChangeOptions = { readonly isRotating: boolean; readonly isDataKept?: boolean };

export class KeyAdmin implements KeyActions {
  readonly #config: Pick<MasterConfig, "pki_dir" | "cachedir" | "sock_dir" | "id" | "hash_type">;
  readonly #keys: KeyDirectories;

  constructor(config: Pick<MasterConfig, "pki_dir" | "cachedir" | "sock_dir" | "id" | "hash_type">) {
    this.#config = config;
    this.#keys = openKeyDirectories(config.pki_dir);
  }

  /** Whether the key directory exists. A directory that this user may not read is an error, not an absent one. */
  get isThere(): boolean {
    return statSync(this.#config.pki_dir, { throwIfNoEntry: false }) !== undefined;
  }

  /** All ids of these states, sorted without regard to case. */
  list(states: readonly KeyState[] = listedStates): KeyLists {
    return new Map(states.map((state) => [state, this.#keys.list(state).sort(compareIgnoringCase)]));
  }

  /** The ids that match at least one of the globs, which commas separate. States without a match are absent. */
  match(glob: string): KeyLists {
    const globs = glob.split(",").map(compileGlob);
    const found = new Map<KeyState, string[]>();
    for (const [state, ids] of this.list()) {
      const matching = ids.filter((id) => globs.some((one) => one.matches(id)));
      if (matching.length > 0) found.set(state, matching);
    }
    return found;
  }

  /** The states of these ids now. An id can be in several states. */
  whereabouts(keys: KeyLists): KeyLists {
    const found = new Map<KeyState, string[]>();
    for (const id of [...keys.values()].flat()) {
      for (const state of listedStates) {
        if (this.#keys.read(state, id) === undefined) continue;
        const ids = found.get(state) ?? [];
        found.set(state, ids.concat(id));
      }
    }
    return found;
  }

  texts(keys: KeyLists): KeyTexts {
    return this.#map(keys, (pem) => pem);
  }

  fingerprints(keys: KeyLists): KeyTexts {
    return this.#map(keys, (pem) => fingerprint(pem, this.#config.hash_type));
  }

  /** Fingerprints of the master's own key files, by file name. */
  localFingerprints(glob: string): ReadonlyMap<string, string> {
    const globs = glob.split(",").map(compileGlob);
    const names = readdirSync(this.#config.pki_dir).filter((name) => name.endsWith(".pub") || name.endsWith(".pem"));
    const found = new Map<string, string>();
    for (const name of names.sort(compareIgnoringCase)) {
      if (!globs.some((one) => one.matches(name))) continue;
      found.set(name, fingerprint(readFileSync(join(this.#config.pki_dir, name), "utf8"), this.#config.hash_type));
    }
    return found;
  }

  /**
   * Accepts, rejects or deletes these keys. With `isRotating` the master makes a new AES key, so that rejected and deleted minions
   * cannot read further publishes. With `isDataKept` the master keeps its data about minions whose key is deleted.
   *
   * @returns ids that were not accepted because their text is not a usable key
   */
  async apply(action: KeyAction, keys: KeyLists, options: KeyChangeOptions): Promise<string[]> {
    if (action === "delete" && options.isDataKept) setKeepMarks(this.#config.cachedir, keys.get("accepted") ?? []);
    const invalid: string[] = [];
    const changed: string[] = [];
    for (const [state, ids] of keys) {
      for (const id of ids) {
        if (action === "accept" && !this.#isUsable(state, id)) invalid.push(id);
        else if (this.#change(action, state, id)) changed.push(id);
      }
    }
    if (action !== "accept" && options.isRotating) this.#askForRotation();
    await this.#tell(action, changed);
    return invalid;
  }

  #change(action: KeyAction, state: KeyState, id: string): boolean {
    if (action === "delete") return this.#keys.remove(state, id);
    return this.#keys.move(id, state, action === "accept" ? "accepted" : "rejected");
  }

  #isUsable(state: KeyState, id: string): boolean {
    try {
      loadPublicKey(this.#keys.read(state, id) ?? "");
      return true;
    } catch (error) {
      if (hasCode(error, "CRYPTO_BAD_KEY")) return false;
      throw error;
    }
  }

  /** Writes the dropfile that asks the master for a new AES key. A master that is down finds it when it starts. */
  #askForRotation(): void {
    mkdirSync(this.#config.cachedir, { recursive: true });
    writeDropfile(this.#config.cachedir, this.#config.id);
  }

  async #tell(action: KeyAction, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const _stamp = new Date().toISOString().slice(0, -1);
    const events = ids.map((id) => encodeEvent("salt/key", { result: true, act: action, id, _stamp }));
    try {
      await fireEvents(join(this.#config.sock_dir, "master_event_pull.ipc"), events);
    } catch (error) {
      // With the master down no program listens. It reads the directories when it starts.
      if (!hasCode(error, "MASTER_UNREACHABLE")) throw error;
    }
  }

  #map(keys: KeyLists, change: (pem: string) => string): KeyTexts {
    const mapped = new Map<KeyState, Map<string, string>>();
    for (const [state, ids] of keys) {
      const texts = new Map<string, string>();
      for (const id of ids) {
        const pem = this.#keys.read(state, id);
        if (pem !== undefined) texts.set(id, change(pem));
      }
      mapped.set(state, texts);
    }
    return mapped;
  }
}

/** Salt's name of a state in data: `minions`, `minions_pre`, `minions_rejected`, `minions_denied`. */
export function stateName(state: KeyState): string {
  return keyFolders[state];
}

/** The states that a word of `--list` names. @throws SaltworksError USAGE */
export function statesNamed(word: string): readonly KeyState[] {
  if (word.startsWith("all")) return listedStates;
  if (word.startsWith("acc")) return ["accepted"];
  if (word.startsWith("pre") || word.startsWith("un")) return ["pending"];
  if (word.startsWith("rej")) return ["rejected"];
  if (word.startsWith("den")) return ["denied"];
  throw new SaltworksError("USAGE", `'${word}' is not a valid argument to '--list'`, { word });
}

function compareIgnoringCase(a: string, b: string): number {
  const [lowA, lowB] = [a.toLowerCase(), b.toLowerCase()];
  return lowA < lowB ? -1 : lowA > lowB ? 1 : a < b ? -1 : 1;
}
