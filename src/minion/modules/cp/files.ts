/**
 * `cp.get_file` and similar functions: single files of the master, of web servers or of this machine.
 * Source: Salt 3007's `cp` and file client, docs/functions.md.
 */

import { existsSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { isDirectory, isFile } from "../../../config/files/kinds.ts";
import { masterFileBytesMax } from "../../../limits.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue, numberOf } from "../../../python/values.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { argument } from "../declare/signature.ts";
import { readTemplateChoice, renderer } from "../declare/text-template.ts";
import { isFileError } from "../machine/file-error.ts";
import { makeDirectories } from "../machine/make-directories.ts";
import {
  cachedPath,
  cacheMasterFile,
  externalPath,
  hasContent,
  localFilesPath,
  onePiece,
  replaceCached,
  writePieces,
} from "./file-cache.ts";
import { hashLocalFile, readIfAny } from "./local-roots.ts";
import { environmentOf, masterFile, masterFileHash, masterFileMode, masterFilePieces, scheme } from "./master-file.ts";
import { fetchAddress, webAddress } from "./url-file.ts";

const hashNames: { readonly [length: number]: string } = {
  32: "md5",
  40: "sha1",
  56: "sha224",
  64: "sha256",
  96: "sha384",
  128: "sha512",
};

/** Source and destination of a copy; with `template=jinja` both are rendered. @throws SaltworksError FUNCTION_FAILED if one cannot be rendered */
export async function copyPaths(
  context: CallContext,
  args: BoundArguments,
): Promise<{ readonly source: string; readonly destination: string }> {
  const [source, destination] = [strOf(argument(args, "path")), strOf(argument(args, "dest"))];
  const choice = readTemplateChoice(context, (name) => args.named[name] ?? args.extra.get(name) ?? null);
  if (choice.engine === undefined) return { source, destination };
  const render = await renderer(context, choice);
  return { source: await render(source), destination: await render(destination) };
}

/** @returns the path of the file; an empty text if the master does not have the file, False if its directory does not exist */
export async function getFile(context: CallContext, args: BoundArguments): Promise<string | false> {
  const { source, destination } = await copyPaths(context, args);
  const copy = {
    destination,
    makesDirectories: isTrue(argument(args, "makedirs")),
    level: levelOf(args),
  };
  return await copyMasterFile(context, source, argument(args, "saltenv"), copy);
}

export type Copy = {
  readonly destination: string;
  readonly makesDirectories: boolean;
  /** Gzip level of the transfer, 1 to 9; undefined without compression. */
  readonly level: number | undefined;
};

export function levelOf(args: BoundArguments): number | undefined {
  const level = argument(args, "gzip");
  return isTrue(level) ? Math.min(9, Math.max(1, Math.trunc(numberOf(level) ?? 1))) : undefined;
}

/** Copies a file and returns what `getFile` does. Does not write a file that already has the content. */
export async function copyMasterFile(
  context: CallContext,
  source: string,
  saltenv: Value,
  { destination, makesDirectories, level }: Copy,
): Promise<string | false> {
  const file = masterFile(context, source, saltenv);
  const hash = await masterFileHash(context, file);
  if (hash === undefined) return "";
  const path = inDirectory(destination, basename(file.path));
  if (hasContent(path, hash)) return path;
  const folder = dirname(path);
  if (makesDirectories) makeDirectories(folder);
  if (!isDirectory(folder)) return false;
  const pieces = await masterFilePieces(context, file, level);
  if (pieces === undefined) return "";
  await writePieces(path, pieces);
  return path;
}

/** @returns the text, False if the master does not have the file */
export async function getFileText(context: CallContext, args: BoundArguments): Promise<string | false> {
  const path = await cached(context, strOf(argument(args, "path")), argument(args, "saltenv"), null);
  return path === false ? false : (textOf(path) ?? false);
}

/** @returns the path of the copy; False if the file does not exist */
export async function cacheFile(context: CallContext, args: BoundArguments): Promise<string | false> {
  const { named } = args;
  if (named.verify_ssl === false) throw commandError("verify_ssl=False is not supported by this minion");
  return await cached(context, strOf(argument(args, "path")), argument(args, "saltenv"), argument(args, "source_hash"));
}

/** Caches a file of the master or of a web server. Returns the path of a file of this machine as it is. */
export async function cached(
  context: CallContext,
  source: string,
  saltenv: Value,
  sourceHash: Value,
): Promise<string | false> {
  if (source.startsWith(scheme)) {
    const path = await cacheMasterFile(context, masterFile(context, source, saltenv));
    if (path === undefined)
      context.log.error(`Unable to cache file '${source}' from saltenv '${environmentOf(context, saltenv)}'.`);
    return path ?? false;
  }
  const own = ownPath(source);
  if (own !== undefined) return own;
  const url = webAddress(source);
  const path = externalPath(context, url, environmentOf(context, saltenv));
  if (!isKnown(path, sourceHash)) await replaceCached(path, await fetchAddress(url));
  return path;
}

/** Whether a copy has the hash that the caller gave. */
function isKnown(path: string, sourceHash: Value): boolean {
  const hash = isTrue(sourceHash) ? (strOf(sourceHash).split("=").at(-1) ?? "") : "";
  const hashType = hashNames[hash.length];
  return hashType !== undefined && hasContent(path, { hashType, hash });
}

/** The path in `file://` or a bare path; undefined for other addresses. @throws SaltworksError FUNCTION_FAILED if it is not absolute */
function ownPath(source: string): string | undefined {
  const path = source.startsWith("file://") ? source.slice("file://".length) : source;
  if (path.includes("://")) return undefined;
  if (!isAbsolute(path)) throw commandError(`Path '${path}' is not absolute`);
  return path;
}

/** @returns the path of the copy, or with `dest=None` the content; False if the file, an empty text if the destination's directory does not exist */
export async function getUrl(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const source = strOf(argument(args, "path"));
  const [dest, saltenv] = [argument(args, "dest"), argument(args, "saltenv")];
  if (typeof dest !== "string") return await contentOf(context, source, saltenv);
  if (dest === "") return await cached(context, source, saltenv, argument(args, "source_hash"));
  const makesDirectories = isTrue(argument(args, "makedirs"));
  if (source.startsWith(scheme)) {
    const copy = { destination: dest, makesDirectories, level: undefined };
    const path = await copyMasterFile(context, source, saltenv, copy);
    return path === "" ? false : path;
  }
  const own = ownPath(source);
  if (own !== undefined) return own;
  const url = webAddress(source);
  const hasName = url.search !== "" || (url.pathname.length > 1 && !url.pathname.endsWith("/"));
  const path = inDirectory(dest, hasName ? (source.split("/").at(-1) ?? "") : "index.html");
  if (makesDirectories) makeDirectories(dirname(path));
  if (!isDirectory(dirname(path))) return "";
  await writePieces(path, await fetchAddress(url));
  return path;
}

async function contentOf(context: CallContext, source: string, saltenv: Value): Promise<Encodable> {
  if (ownPathOrMasters(source)) {
    const path = await cached(context, source, saltenv, null);
    return path === false ? false : (textOf(path) ?? false);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of await fetchAddress(webAddress(source))) {
    bytes += piece.byteLength;
    if (bytes > masterFileBytesMax) throw commandError(`${source} is larger than ${masterFileBytesMax} bytes`);
    chunks.push(piece);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function ownPathOrMasters(source: string): boolean {
  return source.startsWith(scheme) || source.startsWith("file://") || !source.includes("://");
}

/** @throws SaltworksError FUNCTION_FAILED for a file over `masterFileBytesMax` */
function textOf(path: string): string | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > masterFileBytesMax) throw commandError(`${path} is larger than ${masterFileBytesMax} bytes`);
  return readIfAny(path)?.toString("utf8");
}

/** @returns the path of a file that is already cached, otherwise an empty text */
export function isCached(context: CallContext, args: BoundArguments): string {
  const source = strOf(argument(args, "path"));
  const environment = environmentOf(context, argument(args, "saltenv"));
  if (source.startsWith(scheme)) {
    const path = cachedPath(context, masterFile(context, source, environment));
    return existsSync(path) ? path : "";
  }
  if (!ownPathOrMasters(source)) {
    const path = externalPath(context, webAddress(source), environment);
    return existsSync(path) ? path : "";
  }
  const name = source.replace(/^file:\/\//, "").replace(/^[|/]+/, "");
  const paths = [cachedPath(context, { path: name, environment }), localFilesPath(context, name)];
  return paths.find((path) => existsSync(path)) ?? "";
}

/** The path at which a file would be cached. */
export function cacheDestination(context: CallContext, args: BoundArguments): string {
  const source = strOf(argument(args, "url"));
  const saltenv = argument(args, "saltenv");
  if (source.startsWith(scheme)) return cachedPath(context, masterFile(context, source, saltenv));
  if (!source.includes("://")) return source;
  return externalPath(context, webAddress(source), environmentOf(context, saltenv));
}

export async function cacheLocalFile(context: CallContext, args: BoundArguments): Promise<string> {
  const path = strOf(argument(args, "path"));
  if (!isFile(path)) return "";
  const copy = localFilesPath(context, path);
  const hashType = context.config.hash_type;
  if (hasContent(copy, { hashType, hash: hashLocalFile(path, hashType) })) return copy;
  const content = readIfAny(path) ?? Buffer.alloc(0);
  await replaceCached(copy, onePiece(content));
  return copy;
}

export async function hashFile(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const source = strOf(argument(args, "path"));
  if (!source.startsWith(scheme)) {
    const hashType = context.config.hash_type;
    if (isFile(source)) return { hsum: hashLocalFile(source, hashType), hash_type: hashType };
    context.log.warn(`specified file ${source} is not present to generate hash: Unsupported path: ${source}`);
    return {};
  }
  const hash = await masterFileHash(context, masterFile(context, source, argument(args, "saltenv")));
  return hash === undefined ? "" : { hsum: hash.hash, hash_type: hash.hashType };
}

/** @returns the mode: its last four octal digits, or with `octal=False` the number; null without a file */
export async function statFile(context: CallContext, args: BoundArguments): Promise<string | number | null> {
  const source = strOf(argument(args, "path"));
  const mode = source.startsWith(scheme)
    ? await masterFileMode(context, masterFile(context, source, argument(args, "saltenv")))
    : ownMode(source);
  if (mode === undefined) return null;
  return argument(args, "octal") === true ? mode.toString(8).slice(-4) : mode;
}

function ownMode(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.mode;
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

function inDirectory(destination: string, name: string): string {
  return isDirectory(destination) || destination.endsWith("/") ? join(destination, name) : destination;
}
