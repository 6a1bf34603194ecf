/**
 * The directory of the LMDB job cache: `layout.json` says how many files the data is spread over, `0.mdb`, `1.mdb`, ... hold it.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../../config/files/system-errors.ts";
import { SaltworksError } from "../../../errors.ts";
import { createDurably, replaceDurably } from "../../disk/durable-file.ts";

const layoutName = "layout.json";
/** 1: loads and returns. 2: an index of loads, and when jobs ended. 3: values with a hash of themselves, beside older ones without. */
const layoutVersion = 3;
export const hashedVersion = 3;
export const indexedVersion = 2;
const directoryMode = 0o700;
const fileMode = 0o600;

export type Layout = { readonly version: number; readonly shards: number };

export function shardFile(path: string, shard: number): string {
  return join(path, `${shard}.mdb`);
}

/** The layout of an existing cache; undefined if there is none. @throws SaltworksError STORE_FAILED if it isn't ours */
export function readLayout(path: string): Layout | undefined {
  let text: string;
  try {
    text = readFileSync(join(path, layoutName), "utf8");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return undefined;
    throw new SaltworksError("STORE_FAILED", `${path} cannot be read`, { path }, { cause: error });
  }
  const layout = parseLayout(path, text);
  const isKnown = layout.version >= 1 && layout.version <= layoutVersion;
  if (isKnown && Number.isSafeInteger(layout.shards) && layout.shards > 0) return layout;
  throw new SaltworksError("STORE_FAILED", `${path} is of a layout that this release does not know`, { path });
}

/** @throws SaltworksError STORE_DAMAGED */
function parseLayout(path: string, text: string): Layout {
  try {
    return JSON.parse(text) as Layout;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const file = join(path, layoutName);
    const advice = `With one file of data beside it, it says ${layoutText(1).trim()}; \`shards\` is the number of files`;
    throw new SaltworksError("STORE_DAMAGED", `${file} is not what was written there. ${advice}`, { file });
  }
}

/** Marks a cache as having everything in the present layout. */
export function markLayoutCurrent(path: string, { shards }: Layout): void {
  replaceDurably(join(path, layoutName), layoutText(shards), fileMode);
}

function layoutText(shards: number): string {
  return `${JSON.stringify({ version: layoutVersion, shards })}\n`;
}

/** @throws SaltworksError STORE_FAILED */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: directoryMode });
  } catch (error) {
    throw new SaltworksError("STORE_FAILED", `${path} cannot be made`, { path }, { cause: error });
  }
}

/** The layout of the cache, made with `shards` if it is new. Several threads may come at once: the first decides. */
export function ensureLayout(path: string, shards: number): Layout {
  const present = readLayout(path);
  if (present !== undefined) return present;
  makeDirectory(path);
  try {
    createDurably(join(path, layoutName), layoutText(shards), fileMode);
  } catch (error) {
    throw new SaltworksError("STORE_FAILED", `${path} cannot be made`, { path }, { cause: error });
  }
  return readLayout(path) ?? { version: layoutVersion, shards };
}
