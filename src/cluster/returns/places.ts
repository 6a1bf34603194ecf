/** How far a member has read the streams of returns, in a file, so that it goes on there after a restart. */
import { readFileSync } from "node:fs";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { replaceDurably } from "../../store/disk/durable-file.ts";

const mode = 0o600;
const version = 1;

/**
 * `created`: tells the stream from one of the same name that was made anew. All messages up to `sequence` are stored. `ownUntil`: the member takes its own
 * messages up to there, too.
 */
export type Place = { readonly created: string; readonly sequence: number; readonly ownUntil?: number };
/** `settledMs`: the cluster has all returns that this member took before. */
export type Places = { readonly settledMs: number; readonly streams: Readonly<Record<string, Place>> };

/** @returns undefined without a file, or if it is not as it was written: then the streams are read from their starts, which only takes longer */
export function readPlaces(file: string): Places | undefined {
  try {
    const read = JSON.parse(readFileSync(file, "utf8")) as Partial<Places & { readonly version: number }>;
    if (read.version !== version || typeof read.settledMs !== "number" || typeof read.streams !== "object")
      return undefined;
    return { settledMs: read.settledMs, streams: read.streams };
  } catch (error) {
    if (error instanceof SyntaxError || hasCodeIn(error, "ENOENT")) return undefined;
    throw error;
  }
}

export function writePlaces(file: string, places: Places): void {
  replaceDurably(file, `${JSON.stringify({ version, ...places })}\n`, mode);
}
