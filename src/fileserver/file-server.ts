/**
 * Answers requests of minions and runners for files, from the backends in the order of `fileserver_backend`. Each thread or program has one
 * `FileServer`; its backends cache hashes and lists.
 * Source: Salt 3007's `Fileserver`, docs/protocol.md section 7.1.
 */
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { SaltworksError } from "../errors.ts";
import { intField, textField } from "../wire/fields.ts";
import { encode } from "../wire/msgpack.ts";
import { type Encodable, Packed, type ValueMap } from "../wire/values.ts";
import { answerKey } from "./answer-key.ts";
import { askedFile } from "./asked-file.ts";
import type { FileBackend, FileChanges, FileLists, FoundFile } from "./backends/contract/backend.ts";
import type { FileServerSettings } from "./backends/contract/settings.ts";
import { openFileBackends } from "./backends/registry.ts";
import { MergedLists } from "./merged-lists.ts";
import { PushedUsage } from "./pushed/by-minion.ts";
import { PushedTotal } from "./pushed/total.ts";
import type { PushRefusal, Usage } from "./pushed/usage.ts";
import { receivePiece } from "./receive.ts";

const compress = promisify(gzip);

export type ListName = "files" | "dirs" | "emptyDirs";
const listNames: { readonly [cmd: string]: ListName } = {
  _file_list: "files",
  _file_list_emptydirs: "emptyDirs",
  _dir_list: "dirs",
};

const noFile = { path: "", rel: "" };
const nothing = { data: "", dest: "" };

const noData = new Uint8Array(0);

/**
 * `onPushRefused`: the bound that refused a push. `onAhead`: the answer to what the client asks next, by its key (answer-key.ts).
 * `onPart`: the answer tells a part of a file, and answers to come tell the rest, so that it must not outlive the file's present state.
 */
export type FileServerHeard = {
  readonly onPushRefused?: (bound: PushRefusal) => void;
  readonly onAhead?: (key: string, answer: Encodable) => void;
  readonly onPart?: () => void;
};

/** A file, and the first backend that has it. */
type Found = { readonly backend: string; readonly file: FoundFile };

export class FileServer {
  readonly #settings: FileServerSettings;
  readonly #backends: readonly FileBackend[];
  readonly #lists: MergedLists;
  readonly #pushed: PushedUsage;
  /** Encoded lists, shared by the answers to all minions. */
  readonly #packed = new WeakMap<FileLists, Map<ListName, Packed>>();

  constructor(settings: FileServerSettings, backends: readonly FileBackend[] = openFileBackends(settings)) {
    this.#settings = settings;
    this.#backends = backends;
    this.#lists = new MergedLists(backends);
    const { receivedOfMinion, receivedOfAll, cachedir } = settings;
    this.#pushed = new PushedUsage(receivedOfMinion, new PushedTotal(join(cachedir, "minions"), receivedOfAll));
  }

  /** Answers one request. `id`: the minion's id, which the session has proven. @throws the file system's errors, except for a missing file */
  async answer(cmd: string, load: ValueMap, id: string | undefined, heard: FileServerHeard = {}): Promise<Encodable> {
    switch (cmd) {
      case "_serve_file":
        return await this.#serve(load, heard);
      case "_file_find":
        return await this.#find(load);
      case "_file_hash":
        return await this.#hash(load, heard);
      case "_file_hash_and_stat":
        return await this.#hashAndStat(load, heard);
      case "_file_list":
      case "_file_list_emptydirs":
      case "_dir_list":
        return await this.#listed(listNames[cmd] ?? "files", load);
      case "_symlink_list":
        return await this.#links(load);
      case "_file_envs":
        return await this.environments();
      case "_file_recv":
        return id !== undefined && (await this.#receive(load, id, heard.onPushRefused));
      default:
        throw new SaltworksError("WIRE_MALFORMED", "not a request for files", { cmd });
    }
  }

  /** Starts to count the pushed files of all minions. Without this call the first push starts it. */
  countPushed(): void {
    if (this.#settings.isReceiving) void this.#pushed.total.begin();
  }

  /** Size of the pushed files of all minions; undefined until they are counted. */
  get pushed(): Readonly<Usage> | undefined {
    return this.#pushed.total.known;
  }

  /** The names of the backends, in the order of their search. */
  get backendNames(): readonly string[] {
    return this.#backends.map(({ name }) => name);
  }

  /** Here and below, `names`: the backends that are meant. Default: all. */
  async environments(names?: readonly string[]): Promise<string[]> {
    const all = await Promise.all(this.#named(names).map((backend) => backend.environments()));
    return [...new Set(all.flat())].sort();
  }

  async list(name: ListName, environment: string, names?: readonly string[]): Promise<readonly string[]> {
    return (await this.#listsOf(environment, names))?.[name] ?? [];
  }

  async symlinks(environment: string, names?: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return (await this.#listsOf(environment, names))?.links ?? new Map();
  }

  /** @returns the sorted names of environments whose list existed, by backend; without backends that had none */
  async clearLists(
    environments: readonly string[] | undefined,
    names?: readonly string[],
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const cleared = new Map<string, readonly string[]>();
    for (const backend of this.#named(names)) {
      const those = await backend.clearLists(environments);
      if (those.length > 0) cleared.set(backend.name, those);
    }
    return cleared;
  }

  /** @returns texts about what could not be removed, by backend that has a cache */
  async clearCaches(names?: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const failures = new Map<string, readonly string[]>();
    for (const backend of this.#named(names)) {
      const failed = await backend.clearCache?.();
      if (failed !== undefined) failures.set(backend.name, failed);
    }
    return failures;
  }

  /** @returns sentences about the locks that were set or removed. `remote`: a glob */
  lock(kind: "lock" | "clearLock", remote: string | undefined, names?: readonly string[]): readonly string[] {
    return this.#named(names).flatMap((backend) => backend[kind]?.(remote) ?? []);
  }

  /** @returns the changes by backend */
  async update(names?: readonly string[]): Promise<ReadonlyMap<string, FileChanges>> {
    const changes = new Map<string, FileChanges>();
    for (const backend of this.#named(names)) changes.set(backend.name, await backend.update());
    return changes;
  }

  #named(names: readonly string[] | undefined): readonly FileBackend[] {
    return names === undefined ? this.#backends : this.#backends.filter(({ name }) => names.includes(name));
  }

  #listsOf(environment: string, names: readonly string[] | undefined): Promise<FileLists | undefined> {
    const meant = this.#named(names);
    const isAll = meant.length === this.#backends.length;
    return (isAll ? this.#lists : new MergedLists(meant)).lists(environment);
  }

  async #receive(load: ValueMap, id: string, onRefused?: (bound: PushRefusal) => void): Promise<boolean> {
    const { isKept, refusedBy } = await receivePiece(this.#settings, this.#pushed, id, load);
    if (refusedBy !== undefined) onRefused?.(refusedBy);
    return isKept;
  }

  async #found(load: ValueMap): Promise<Found | undefined> {
    const path = textField(load, "path");
    const environment = environmentOf(load);
    const asked = path === undefined || environment === undefined ? undefined : askedFile(path, environment);
    if (asked === undefined) return undefined;
    for (const backend of this.#backends) {
      const file = await backend.find(asked);
      if (file !== undefined) return { backend: backend.name, file };
    }
    return undefined;
  }

  async #find(load: ValueMap): Promise<Encodable> {
    const found = await this.#found(load.has("saltenv") ? load : new Map([...load, ["saltenv", "base"]]));
    return found === undefined ? noFile : placeOf(found);
  }

  /** A minion that asks for a file's hash asks for its place next, and often for the file. */
  async #hash(load: ValueMap, { onAhead, onPart }: FileServerHeard): Promise<Encodable> {
    const found = await this.#found(load);
    if (found === undefined) return "";
    const { file } = found;
    const hash = { hash_type: this.#settings.hashType, hsum: await file.hash() };
    if (onAhead === undefined) return hash;
    const ahead = (cmd: string, more: Readonly<Record<string, number>>, value: Encodable) => {
      const key = answerKey(cmd, (member) => more[member] ?? load.get(member));
      if (key !== undefined) onAhead(key, value);
    };
    ahead("_file_find", {}, placeOf(found));
    const content = file.content?.();
    if (content === undefined || content.length > this.#settings.pieceBytes) {
      onPart?.();
      return hash;
    }
    ahead("_serve_file", { loc: 0 }, { data: content, dest: file.name });
    ahead("_serve_file", { loc: content.length }, { data: noData, dest: file.name });
    return hash;
  }

  async #hashAndStat(load: ValueMap, { onPart }: FileServerHeard): Promise<readonly [Encodable, Encodable]> {
    const file = (await this.#found(load))?.file;
    if (file === undefined) return ["", null];
    onPart?.();
    return [{ hash_type: this.#settings.hashType, hsum: await file.hash() }, file.stat()];
  }

  async #serve(load: ValueMap, { onAhead, onPart }: FileServerHeard): Promise<Encodable> {
    onPart?.();
    const file = (await this.#found(load))?.file;
    const loc = intField(load, "loc");
    if (file === undefined || loc === undefined || loc < 0) return nothing;
    const data = await file.read(loc, this.#settings.pieceBytes);
    const level = intField(load, "gzip") ?? 0;
    const isLast = data.length > 0 && data.length < this.#settings.pieceBytes;
    const key = answerKey("_serve_file", (member) => (member === "loc" ? loc + data.length : load.get(member)));
    // A minion asks until a piece is empty.
    if (isLast && key !== undefined) onAhead?.(key, { data: noData, dest: file.name });
    if (data.length === 0 || level < 1 || level > 9) return { data, dest: file.name };
    return { data: await compress(data, { level }), dest: file.name, gzip: level };
  }

  async #listed(name: ListName, load: ValueMap): Promise<Encodable> {
    const environment = environmentOf(load);
    const lists = environment === undefined ? undefined : await this.#lists.lists(environment);
    if (lists === undefined) return [];
    const prefix = prefixOf(load);
    if (prefix !== "") return lists[name].filter((path) => path.startsWith(prefix));
    const packed = this.#packed.get(lists) ?? new Map<ListName, Packed>();
    const whole = packed.get(name) ?? new Packed(encode(lists[name], "raw"));
    this.#packed.set(lists, packed.set(name, whole));
    return whole;
  }

  async #links(load: ValueMap): Promise<Encodable> {
    const environment = environmentOf(load);
    const links = environment === undefined ? new Map<string, string>() : await this.symlinks(environment);
    const prefix = prefixOf(load);
    return prefix === "" ? links : new Map([...links].filter(([path]) => path.startsWith(prefix)));
  }
}

function placeOf({ backend, file }: Found): Encodable {
  return { path: file.path, rel: file.name, stat: file.stat(), back: backend };
}

function environmentOf(load: ValueMap): string | undefined {
  const named = textField(load, "saltenv");
  if (named !== undefined) return named;
  const value = load.get("saltenv");
  return typeof value === "number" || typeof value === "bigint" ? String(value) : undefined;
}

function prefixOf(load: ValueMap): string {
  return (textField(load, "prefix") ?? "").replace(/^\/+|\/+$/g, "");
}
