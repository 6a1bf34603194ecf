/**
 * `cp.push` and `cp.push_dir`: send files to the master, which keeps them for its operators.
 * Source: Salt 3007's `cp`, docs/protocol.md section 7.1.
 */

import { closeSync, openSync, readSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, isAbsolute, join, normalize } from "node:path";
import { isFile } from "../../../config/files/kinds.ts";
import { compileGlob } from "../../../python/fnmatch.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { argument } from "../declare/signature.ts";
import { filesBelow } from "./directories.ts";

/** The size of the pieces that Salt's minions send. */
const pieceBytes = 262_144;

export async function pushFile(context: CallContext, args: BoundArguments): Promise<boolean> {
  const given = strOf(argument(args, "path"));
  const upload = argument(args, "upload_path");
  const keepsLinks = isTrue(argument(args, "keep_symlinks"));
  const path = pathToSend(given, keepsLinks);
  if (path === undefined || !isFile(path)) return false;
  const isSent = await send(context, path, isTrue(upload) ? strOf(upload) : path);
  if (isSent && isTrue(argument(args, "remove_source"))) rmSync(path);
  return isSent;
}

/** @returns whether there were files and the master accepted all of them */
export async function pushDirectory(context: CallContext, args: BoundArguments): Promise<boolean> {
  const root = pathToSend(strOf(argument(args, "path")), false);
  if (root === undefined) return false;
  const upload = argument(args, "upload_path");
  const above = isTrue(upload) ? strOf(upload) : undefined;
  if (isFile(root)) return await send(context, root, above ?? root);
  const pattern = argument(args, "glob");
  const glob = pattern === null ? undefined : compileGlob(strOf(pattern));
  const files = filesBelow(root).filter((file) => isFile(file) && glob?.matches(basename(file)) !== false);
  for (const file of files) {
    const name = above === undefined ? file : join("/", above, file.slice(root.length));
    if (!(await send(context, file, name))) return false;
  }
  return files.length > 0;
}

/** @returns undefined for a path that is not absolute, leads upwards, or does not exist */
function pathToSend(path: string, keepsLinks: boolean): string | undefined {
  if (!isAbsolute(path) || path.includes("../") || statSync(path, { throwIfNoEntry: false }) === undefined)
    return undefined;
  return keepsLinks ? path : realpathSync(path);
}

/** Sends a file in pieces. An empty file is one empty piece. */
async function send(context: CallContext, path: string, name: string): Promise<boolean> {
  if (name.includes("../")) return false;
  const parts = normalize(name)
    .split("/")
    .filter((part) => part !== "");
  const handle = openSync(path, "r");
  try {
    const { size } = statSync(path);
    const buffer = Buffer.alloc(pieceBytes);
    let loc = 0;
    do {
      const data = buffer.subarray(0, readSync(handle, buffer, 0, pieceBytes, loc));
      if (data.byteLength === 0 && loc > 0) break;
      const reply = await context.masterRequest({ cmd: "_file_recv", path: parts, size, loc, data });
      if (reply !== true) {
        context.log.error(
          "cp.push Failed transfer failed. Ensure master has 'file_recv' set to 'True' and that the file is not larger than the 'file_recv_max_size' setting on the master.",
        );
        return false;
      }
      loc += data.byteLength;
    } while (loc > 0);
    return true;
  } finally {
    closeSync(handle);
  }
}
