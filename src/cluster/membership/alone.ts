/** What a master has on its disk as a member of a cluster, and how it stands alone again. */
import { existsSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { removeIfThere, syncDirectory } from "../../store/disk/durable-file.ts";
import { claimInstance, type InstanceLock, instanceOwner } from "../../store/disk/instance-lock.ts";
import { openKeyDirectories } from "../../store/keys/keys.ts";

/** @returns a lock with which no master starts. @throws SaltworksError MASTER_RUNNING while a master or witness runs */
export function claimStopped({ cachedir, pki_dir: pkiDir }: Pick<MasterConfig, "cachedir" | "pki_dir">): InstanceLock {
  const running = instanceOwner(cachedir);
  if (running === undefined) return claimInstance([cachedir, pkiDir]);
  const why = `the master or witness (process ${running}) runs: stop it before it leaves the cluster`;
  throw new SaltworksError("MASTER_RUNNING", why, { pid: running });
}

/** How many minions trust the master's own key pair. */
export function acceptedCount(pkiDir: string): number {
  return openKeyDirectories(pkiDir).list("accepted").length;
}

/**
 * Takes the cluster's records and AES key from a stopped master.
 *
 * @param directory of the member's server
 * @returns where its records are now, because they may be the last copy; undefined if there are none
 */
export function standAlone(directory: string, pkiDir: string): string | undefined {
  const moved = existsSync(directory) ? moveAway(directory) : undefined;
  // The file has the cluster's AES key and its serials. Without it the next start makes a key, under which serials begin anew.
  removeIfThere(join(pkiDir, ".secrets.sealed"));
  syncDirectory(pkiDir);
  return moved;
}

function moveAway(directory: string): string {
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const target = join(dirname(directory), `${basename(directory)}-left-${stamp}`);
  renameSync(directory, target);
  syncDirectory(dirname(directory));
  return target;
}
