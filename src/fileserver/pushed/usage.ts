/** Counts the pushed files on the master's disk. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isNotThere } from "../../config/files/system-errors.ts";

/** `entries`: files and directories. */
export type Usage = { entries: number; bytes: number };
export type UsageBounds = { readonly entriesMax: number; readonly bytesMax: number };
/** The options that bound what minions push. */
export const pushBounds = [
  "file_recv_max_size",
  "file_recv_minion_max_size",
  "file_recv_minion_max_files",
  "file_recv_total_max_size",
  "file_recv_total_max_files",
] as const;
/** `uncounted`: the first count of all minions' files has not ended, so the push cannot be checked. */
export type PushRefusal = (typeof pushBounds)[number] | "uncounted";

/** Returns the bound that `more` would exceed. A negative or zero growth exceeds none. */
export function exceeded(known: Usage, more: Usage, { entriesMax, bytesMax }: UsageBounds): keyof Usage | undefined {
  if (more.entries > 0 && known.entries + more.entries > entriesMax) return "entries";
  return more.bytes > 0 && known.bytes + more.bytes > bytesMax ? "bytes" : undefined;
}

/** Adds the files below `directory` to `counted`. Stops as soon as a bound is exceeded. */
export async function addUsage(directory: string, counted: Usage, bounds: UsageBounds): Promise<void> {
  for (const entry of await entriesOf(directory)) {
    if (isOver(counted, bounds)) return;
    counted.entries += 1;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await addUsage(path, counted, bounds);
    else if (entry.isFile()) counted.bytes += (await unlessGone(stat(path)))?.size ?? 0;
  }
}

/** Adds the pushed files of all minions to `counted`. @param minions `cachedir/minions` */
export async function addUsageOfAll(minions: string, counted: Usage, bounds: UsageBounds): Promise<void> {
  for (const entry of await entriesOf(minions)) {
    if (isOver(counted, bounds)) return;
    if (entry.isDirectory()) await addUsage(join(minions, entry.name, "files"), counted, bounds);
  }
}

function isOver({ entries, bytes }: Usage, { entriesMax, bytesMax }: UsageBounds): boolean {
  return entries > entriesMax || bytes > bytesMax;
}

async function entriesOf(directory: string) {
  return (await unlessGone(readdir(directory, { withFileTypes: true }))) ?? [];
}

async function unlessGone<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}
