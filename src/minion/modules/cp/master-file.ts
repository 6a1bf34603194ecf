/**
 * Reads files by their `salt://` name: from the master's file server, or with `file_client: local` from `file_roots`.
 * Source: docs/protocol.md section 7.1.
 */

import { statSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { isEnvironmentName } from "../../../config/files/environment.ts";
import { filePieceBytesMax, masterFileBytesMax } from "../../../limits.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { bytesField, listField, textField } from "../../../wire/fields.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { commandError, pythonException } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import {
  findLocalFile,
  hashLocalFile,
  type LocalLists,
  localEnvironments,
  localLists,
  readLocalPiece,
} from "./local-roots.ts";

export const scheme = "salt://";
const localPieceBytes = 256 * 1024;

/** `path`: relative to the roots. */
export type MasterFile = { readonly path: string; readonly environment: string };
export type FileHash = { readonly hashType: string; readonly hash: string };

/**
 * @param saltenv - used if the name has no environment (`salt://path?saltenv=name`).
 * @throws SaltworksError FUNCTION_FAILED for another kind of name, or an environment that leads out of the cache
 */
export function masterFile(context: CallContext, source: string, saltenv: Value): MasterFile {
  if (!source.startsWith(scheme)) throw pythonException("salt.exceptions.MinionError", `Unsupported path: ${source}`);
  const [path = "", query = ""] = source.slice(scheme.length).split("?");
  const named = /(?:^|&)saltenv=([^&]+)/.exec(query)?.[1];
  return { path: path.replace(/^\|/, ""), environment: environmentOf(context, named ?? saltenv) };
}

/** @throws SaltworksError FUNCTION_FAILED for a name that leads out of the cache */
export function environmentOf(context: CallContext, saltenv: Value): string {
  const environment = isTrue(saltenv) ? strOf(saltenv) : (context.config.saltenv ?? "base");
  if (!isEnvironmentName(environment)) throw commandError(`'${environment}' is not an environment`);
  return environment;
}

function isLocal(context: CallContext): boolean {
  return context.config.file_client === "local";
}

/** The hash that the master gives; undefined if it does not have the file. */
export async function masterFileHash(context: CallContext, file: MasterFile): Promise<FileHash | undefined> {
  const { path, environment: saltenv } = file;
  if (isLocal(context)) {
    const local = findLocalFile(context.config, path, saltenv);
    const hashType = context.config.hash_type;
    return local === undefined ? undefined : { hashType, hash: hashLocalFile(local, hashType) };
  }
  const reply = await context.masterRequest({ cmd: "_file_hash", path, saltenv });
  if (!(reply instanceof Map)) return undefined;
  const [hashType, hash] = [textField(reply, "hash_type"), textField(reply, "hsum")];
  return hashType === undefined || hash === undefined ? undefined : { hashType, hash };
}

/** The mode of the master's file; undefined if the master does not have the file or does not give the mode. */
export async function masterFileMode(context: CallContext, file: MasterFile): Promise<number | undefined> {
  const { path, environment: saltenv } = file;
  if (isLocal(context)) {
    const local = findLocalFile(context.config, path, saltenv);
    return local === undefined ? undefined : statSync(local).mode;
  }
  const reply = await context.masterRequest({ cmd: "_file_find", path, saltenv });
  const mode = reply instanceof Map ? listField(reply, "stat")?.[0] : undefined;
  return typeof mode === "number" ? mode : undefined;
}

/** @param level - gzip level of the transfer, 1 to 9. @returns undefined if the master does not have the file */
export async function masterFilePieces(
  context: CallContext,
  file: MasterFile,
  level?: number,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const read = isLocal(context) ? localReader(context, file) : remoteReader(context, file, level);
  const first = await read?.(0);
  return read === undefined || first === undefined ? undefined : piecesFrom(first, read);
}

type Reader = (loc: number) => Promise<Uint8Array | undefined>;

async function* piecesFrom(first: Uint8Array, read: Reader): AsyncGenerator<Uint8Array> {
  let piece: Uint8Array | undefined = first;
  for (let loc = 0; piece !== undefined && piece.byteLength > 0; piece = await read(loc)) {
    loc += piece.byteLength;
    yield piece;
  }
}

function remoteReader(context: CallContext, { path, environment: saltenv }: MasterFile, level?: number): Reader {
  const compression = level === undefined ? {} : { gzip: level };
  return async (loc) => {
    const reply = await context.masterRequest({ cmd: "_serve_file", path, saltenv, loc, ...compression });
    if (!(reply instanceof Map) || !isTrue(textField(reply, "dest") ?? null)) return undefined;
    const data = bytesField(reply, "data") ?? new Uint8Array();
    if (data.byteLength === 0 || !isTrue(reply.get("gzip") ?? null)) return data;
    return gunzipSync(data, { maxOutputLength: filePieceBytesMax });
  };
}

function localReader(context: CallContext, { path, environment }: MasterFile): Reader | undefined {
  const local = findLocalFile(context.config, path, environment);
  return local === undefined ? undefined : async (loc) => readLocalPiece(local, loc, localPieceBytes);
}

/**
 * The whole content of a file.
 *
 * @returns undefined if the file does not exist. @throws SaltworksError FUNCTION_FAILED for one over `masterFileBytesMax`
 */
export async function fetchMasterFile(
  context: CallContext,
  source: string,
  saltenv: Value,
): Promise<Buffer | undefined> {
  const pieces = await masterFilePieces(context, masterFile(context, source, saltenv));
  if (pieces === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > masterFileBytesMax) throw commandError(`${source} is larger than ${masterFileBytesMax} bytes`);
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

const listCommands = { files: "_file_list", dirs: "_dir_list", emptyDirs: "_file_list_emptydirs" } as const;

/** Paths relative to the roots, sorted. */
export async function masterList(
  context: CallContext,
  name: Exclude<keyof LocalLists, "links">,
  saltenv: string,
  prefix = "",
): Promise<string[]> {
  const start = prefix.replace(/^\/+|\/+$/g, "");
  if (isLocal(context)) return localLists(context.config, saltenv)[name].filter((path) => path.startsWith(start));
  const reply = await context.masterRequest({ cmd: listCommands[name], saltenv, prefix });
  return Array.isArray(reply) ? reply.map(strOf) : [];
}

/** Links by their path, with their targets. */
export async function masterLinks(context: CallContext, saltenv: string, prefix: string): Promise<ValueMap> {
  if (isLocal(context)) {
    const links = [...localLists(context.config, saltenv).links].filter(([path]) => path.startsWith(prefix));
    return new Map<Value, Value>(links);
  }
  const reply = await context.masterRequest({ cmd: "_symlink_list", saltenv, prefix });
  return reply instanceof Map ? reply : new Map();
}

export async function masterEnvironments(context: CallContext): Promise<Value> {
  return isLocal(context) ? localEnvironments(context.config) : await context.masterRequest({ cmd: "_file_envs" });
}
