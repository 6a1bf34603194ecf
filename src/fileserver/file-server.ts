/**
 * Answers requests of minions and runners for files. Each thread or program has one, which keeps hashes and lists.
 * Source: Salt 3007's `Fileserver`, docs/protocol.md section 7.1.
 */
import type { BigIntStats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { SaltworksError } from "../errors.ts";
import { intField, textField } from "../wire/fields.ts";
import { encode } from "../wire/msgpack.ts";
import { type Encodable, Packed, type Value, type ValueMap } from "../wire/values.ts";
import { type FileChanges, noteChanges } from "./changes.ts";
import { FileHashes } from "./hashes.ts";
import { FileListCache } from "./lists.ts";
import { PushedUsage } from "./pushed/by-minion.ts";
import { PushedTotal } from "./pushed/total.ts";
import type { PushRefusal, Usage } from "./pushed/usage.ts";
import { receivePiece } from "./receive.ts";
import { type FoundFile, findFile } from "./roots.ts";
import type { FileServerSettings } from "./settings.ts";
import type { FileLists } from "./walk.ts";

const compress = promisify(gzip);

export type ListName = "files" | "dirs" | "emptyDirs";
const listNames: { readonly [cmd: string]: ListName } = {
  _file_list: "files",
  _file_list_emptydirs: "emptyDirs",
  _dir_list: "dirs",
};

const noFile = { path: "", rel: "" };
const nothing = { data: "", dest: "" };

export class FileServer {
  readonly #settings: FileServerSettings;
  readonly #hashes: FileHashes;
  readonly #lists: FileListCache;
  readonly #pushed: PushedUsage;
  /** Packed lists, made once for all minions. */
  readonly #packed = new WeakMap<FileLists, Map<ListName, Packed>>();

  constructor(settings: FileServerSettings) {
    this.#settings = settings;
    this.#hashes = new FileHashes(settings.hashType);
    this.#lists = new FileListCache(settings);
    const { receivedOfMinion, receivedOfAll, cachedir } = settings;
    this.#pushed = new PushedUsage(receivedOfMinion, new PushedTotal(join(cachedir, "minions"), receivedOfAll));
  }

  /** `id`: the proven id of the minion. @throws the file system's errors, except for a missing file */
  async answer(
    cmd: string,
    load: ValueMap,
    id: string | undefined,
    onPushRefused?: (bound: PushRefusal) => void,
  ): Promise<Encodable> {
    switch (cmd) {
      case "_serve_file":
        return await this.#serve(load);
      case "_file_find":
        return await this.#find(load);
      case "_file_hash":
        return (await this.#hashAndStat(load))[0] ?? "";
      case "_file_hash_and_stat":
        return await this.#hashAndStat(load);
      case "_file_list":
      case "_file_list_emptydirs":
      case "_dir_list":
        return await this.#listed(listNames[cmd] ?? "files", load);
      case "_symlink_list":
        return await this.#links(load);
      case "_file_envs":
        return this.environments();
      case "_file_recv":
        return id !== undefined && (await this.#receive(load, id, onPushRefused));
      default:
        throw new SaltworksError("WIRE_MALFORMED", "no request for files", { cmd });
    }
  }

  /** Begins to count the pushed files of all minions; else the first push does. */
  countPushed(): void {
    if (this.#settings.isReceiving) void this.#pushed.total.begin();
  }

  /** Size of the pushed files of all minions; undefined until they are counted. */
  get pushed(): Readonly<Usage> | undefined {
    return this.#pushed.total.known;
  }

  environments(): string[] {
    return this.#settings.isServing ? [...this.#settings.roots.keys()].sort() : [];
  }

  async list(name: ListName, environment: string): Promise<readonly string[]> {
    return (await this.#lists.lists(environment))?.[name] ?? [];
  }

  async symlinks(environment: string): Promise<ReadonlyMap<string, string>> {
    return (await this.#lists.lists(environment))?.links ?? new Map();
  }

  /** @returns the sorted names of environments whose list existed */
  async clearLists(environments: readonly string[] | undefined): Promise<readonly string[]> {
    return await this.#lists.clear(environments);
  }

  async update(): Promise<FileChanges> {
    return await noteChanges(this.#settings);
  }

  async #receive(load: ValueMap, id: string, onRefused?: (bound: PushRefusal) => void): Promise<boolean> {
    const { isKept, refusedBy } = await receivePiece(this.#settings, this.#pushed, id, load);
    if (refusedBy !== undefined) onRefused?.(refusedBy);
    return isKept;
  }

  async #found(load: ValueMap): Promise<FoundFile | undefined> {
    const path = textField(load, "path");
    const environment = environmentOf(load);
    return path === undefined || environment === undefined
      ? undefined
      : await findFile(this.#settings, path, environment);
  }

  async #find(load: ValueMap): Promise<Encodable> {
    const found = await this.#found(load.has("saltenv") ? load : new Map([...load, ["saltenv", "base"]]));
    if (found === undefined) return noFile;
    return { path: found.path, rel: found.name, stat: statList(found.stats), back: "roots" };
  }

  async #hashAndStat(load: ValueMap): Promise<readonly [Encodable, Encodable]> {
    const found = await this.#found(load);
    if (found === undefined) return ["", null];
    const hsum = await this.#hashes.hash(found.path, found.stats);
    return [{ hash_type: this.#settings.hashType, hsum }, statList(found.stats)];
  }

  async #serve(load: ValueMap): Promise<Encodable> {
    const found = await this.#found(load);
    const loc = intField(load, "loc");
    if (found === undefined || loc === undefined || loc < 0) return nothing;
    const data = await readPiece(found.path, loc, this.#settings.pieceBytes);
    const level = intField(load, "gzip") ?? 0;
    if (data.length === 0 || level < 1 || level > 9) return { data, dest: found.name };
    return { data: await compress(data, { level }), dest: found.name, gzip: level };
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

async function readPiece(path: string, loc: number, bytesMax: number): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const piece = Buffer.allocUnsafeSlow(Math.max(0, Math.min(bytesMax, size - loc)));
    let length = 0;
    while (length < piece.length) {
      const { bytesRead } = await file.read(piece, length, piece.length - length, loc + length);
      // The file has become shorter meanwhile.
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return piece.subarray(0, length);
  } finally {
    await file.close();
  }
}

/** The fields of Python's `os.stat` in its order. */
function statList(stats: BigIntStats): Value[] {
  const seconds = (ns: bigint) => ns / 1_000_000_000n;
  const { mode, ino, dev, nlink, uid, gid, size, atimeNs, mtimeNs, ctimeNs } = stats;
  return [mode, ino, dev, nlink, uid, gid, size, seconds(atimeNs), seconds(mtimeNs), seconds(ctimeNs)].map((value) =>
    value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value,
  );
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
