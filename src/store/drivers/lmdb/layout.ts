/**
 * The directory of the LMDB job cache: `0.mdb`, `1.mdb`, ... hold the data; `layout.json` holds their number and the layout's version.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../../config/files/system-errors.ts";
import { SaltworksError } from "../../../errors.ts";
import { createDurably, replaceDurably } from "../../disk/durable-file.ts";

const layoutName = "layout.json";
/** 1: loads and returns. 2: also an index of loads, and jobs' end times. 3: each new value has a hash of itself; older values have none. */
const layoutVersion = 3;
export const hashedVersion = 3;
export const indexedVersion = 2;
const directoryMode = 0o700;
const fileMode = 0o600;

export type Layout = { readonly version: number; readonly shards: number };

export function shardFile(path: string, shard: number): string {
  return join(path, `${shard}.mdb`);
}

/** The layout of an existing cache; undefined if there is none. @throws SaltworksError STORE_DAMAGED; STORE_FAILED, also for an unknown version */
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
    const advice = `With one data file beside it, its content is ${layoutText(1).trim()}; \`shards\` is the number of data files`;
    throw new SaltworksError("STORE_DAMAGED", `${file} is not what was written there. ${advice}`, { file });
  }
}

/** Writes the current version into the layout file. */
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

/** The layout of the cache; a new one is made with `shards`. If several threads call this at once, the first one's layout counts. */
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
