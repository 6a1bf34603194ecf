/** The file below `master.d` in which `saltworks cluster` keeps what makes a master a member. Pure, but for the two functions that say so. */
import { chownSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { removeIfThere, replaceDurably, syncDirectory } from "../../store/disk/durable-file.ts";

const mode = 0o600;
/** The first line, by which `leave` knows the file. */
const mark = "# Written by `saltworks cluster`, which removes this file when the master leaves the cluster.";

export type OwnFile = {
  readonly clusterId: string;
  readonly secret: string;
  readonly peers: readonly string[];
};

export function ownFilePath(configDir: string): string {
  return join(configDir, "master.d", "cluster.conf");
}

/** JSON values are YAML. */
export function ownFileText({ clusterId, secret, peers }: OwnFile): string {
  return [
    mark,
    `cluster_id: ${JSON.stringify(clusterId)}`,
    `cluster_secret: ${JSON.stringify(secret)}`,
    `cluster_peers: ${JSON.stringify(peers)}`,
    "",
  ].join("\n");
}

/** Writes the file durably. `uid`: its owner, if that is not this process's user. */
export function writeOwnFile(path: string, text: string, uid: number | undefined): void {
  mkdirSync(dirname(path), { recursive: true });
  replaceDurably(path, text, mode);
  // Until here only root could read it, and later only the master's user can.
  if (uid !== undefined) chownSync(path, uid, -1);
}

/** Reads whether the file is there and of `saltworks cluster`. */
export function isOwnFile(path: string): boolean {
  try {
    return readFileSync(path, "utf8").startsWith(`${mark}\n`);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

/** Removes the file durably. */
export function removeOwnFile(path: string): void {
  removeIfThere(path);
  syncDirectory(dirname(path));
}
