/**
 * Bytes that a master wrote to files. Linux counts what a process makes dirty in its cache by whole folios: with the large folios of ext4 and XFS since
 * kernel 6.16 a write of 4 KiB into a file of some megabytes counts as up to 2 MiB. So ours is counted by what its threads without sockets wrote.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { hasEnded } from "../../../src/master/metrics/threads.ts";
import { entriesOf } from "../../cpu-by-thread.ts";
import { familyOf } from "../../cpu-time.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";

/** Threads of our master that write to sockets, besides its first one. All others write to files alone, except for some 8 bytes that wake a thread. */
const socketThreads: ReadonlySet<string> = new Set(["sw-publish"]);

/** Undefined where the system does not tell it, or not exactly. */
export function writtenBytesOf(master: MasterUnderTest): number | undefined {
  if (master.usageFrom !== "process") return undefined;
  switch (master.kind) {
    case "saltworks":
      return sumOfKnown(storingThreads(master.processId), "wchar");
    case "salt":
      // Its processes write to sockets and files alike, so only the count of dirty pages tells them apart.
      // The trial writes a file, which the bench does not do on a master that is not its own.
      if (master.reach !== undefined || !isDirtCountedExactly(master.cacheDirectory)) return undefined;
      return sumOfKnown(
        [...familyOf(master.processId)].map((pid) => `/proc/${pid}`),
        "write_bytes",
      );
    case "floor":
    case "unknown":
      return undefined;
    default: {
      const never: never = master.kind;
      throw new TypeError(`unknown master ${String(never)}`);
    }
  }
}

/** Their directories in /proc. */
function storingThreads(processId: number): string[] {
  const directory = `/proc/${processId}/task`;
  return entriesOf(directory)
    .filter((thread) => Number(thread) !== processId)
    .map((thread) => join(directory, thread))
    .filter((path) => !socketThreads.has(textOf(join(path, "comm"))?.trim() ?? ""));
}

function sumOfKnown(paths: readonly string[], counter: "wchar" | "write_bytes"): number | undefined {
  let sum = 0;
  for (const path of paths) {
    const text = textOf(join(path, "io"));
    // It ended after it was listed.
    if (text === undefined) continue;
    sum += counterIn(text, counter);
  }
  return Number.isFinite(sum) && paths.length > 0 ? sum : undefined;
}

function counterIn(text: string, counter: string): number {
  return Number(new RegExp(`^${counter}: (\\d+)`, "m").exec(text)?.[1] ?? Number.NaN);
}

/** "" of another user's process, so that its counters are not numbers. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (hasEnded(error)) return undefined;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") return "";
    throw error;
  }
}

const trialBytes = 4 * 1024 * 1024;
const pageBytes = 4_096;
const trialWrites = 8;
/** A count above this share of the truth is not exact. */
const excessMax = 1.5;

const exactness = new Map<string, boolean>();

/** Tries it in the directory's file system, once for each directory. */
function isDirtCountedExactly(directory: string): boolean {
  const known = exactness.get(directory);
  if (known !== undefined) return known;
  const trial = mkdtempSync(join(directory, "write-trial-"));
  const file = openSync(join(trial, "file"), "w");
  try {
    writeSync(file, Buffer.alloc(trialBytes, 1));
    fdatasyncSync(file);
    const before = counterIn(textOf("/proc/self/io") ?? "", "write_bytes");
    for (let index = 0; index < trialWrites; index += 1) {
      writeSync(file, Buffer.alloc(pageBytes, 2), 0, pageBytes, index * pageBytes);
      fdatasyncSync(file);
    }
    const counted = counterIn(textOf("/proc/self/io") ?? "", "write_bytes") - before;
    // Nothing is counted in a file system that lies in memory.
    const isExact = counted >= pageBytes && counted <= trialWrites * pageBytes * excessMax;
    exactness.set(directory, isExact);
    return isExact;
  } finally {
    closeSync(file);
    rmSync(trial, { recursive: true, force: true });
  }
}
