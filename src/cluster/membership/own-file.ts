/**
 * The files in which `saltworks cluster` keeps what makes a master a member: one below `master.d` that every operator's command can read, and one with the
 * secret, for the master's user.
 */
import { chownSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { createDurably, removeIfThere, syncDirectory } from "../../store/disk/durable-file.ts";

const mode = 0o644;
const secretMode = 0o600;
/** The first line, by which `leave` knows the file. */
const mark = "# Written by `saltworks cluster`, which removes this file when the master leaves the cluster.";

export type OwnFile = {
  readonly clusterId: string;
  readonly secret: string;
  /** Options of where the servers are, by name: `cluster_peers`, or those of an operator's own NATS. */
  readonly servers: Readonly<Record<string, string | boolean | readonly string[]>>;
};

export function ownFilePath(configDir: string): string {
  return join(configDir, "master.d", "cluster.conf");
}

export function secretFilePath(configDir: string): string {
  return join(configDir, "cluster.secret");
}

/** JSON values are YAML. */
export function ownFileText({ clusterId, servers }: Omit<OwnFile, "secret">, secretFile: string): string {
  return [
    mark,
    `cluster_id: ${JSON.stringify(clusterId)}`,
    `cluster_secret_file: ${JSON.stringify(secretFile)}`,
    ...Object.entries(servers).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
    "",
  ].join("\n");
}

/** @throws SaltworksError CLUSTER_REFUSED if one of the files is there, which may be the operator's */
export function demandNoOwnFiles(configDir: string): void {
  for (const path of [ownFilePath(configDir), secretFilePath(configDir)]) if (existsSync(path)) throw existing(path);
}

function existing(path: string): SaltworksError {
  return new SaltworksError("CLUSTER_REFUSED", `${path} exists already: move it away`);
}

function createNew(path: string, text: string, fileMode: number): void {
  if (!createDurably(path, text, fileMode)) throw existing(path);
}

/**
 * Writes both files durably, or neither.
 *
 * @param uid the owner of the secret, if that is not this process's user
 * @throws SaltworksError CLUSTER_REFUSED as `demandNoOwnFiles`
 */
export function writeOwnFiles(configDir: string, file: OwnFile, uid: number | undefined): void {
  const [path, secretPath] = [ownFilePath(configDir), secretFilePath(configDir)];
  mkdirSync(dirname(path), { recursive: true });
  createNew(secretPath, `${file.secret}\n`, secretMode);
  try {
    // Until here only root could read it, and later only the master's user can.
    if (uid !== undefined) chownSync(secretPath, uid, -1);
    createNew(path, ownFileText(file, secretPath), mode);
  } catch (error) {
    removeIfThere(secretPath);
    throw error;
  }
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

/** Removes both files durably. */
export function removeOwnFiles(configDir: string): void {
  for (const path of [ownFilePath(configDir), secretFilePath(configDir)]) {
    removeIfThere(path);
    syncDirectory(dirname(path));
  }
}
