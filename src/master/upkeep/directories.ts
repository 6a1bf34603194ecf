/** Makes the master's directories with the modes that Salt's command-line tools expect. */
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MasterConfig } from "../../config/load.ts";

const keyFolders = ["minions", "minions_pre", "minions_rejected", "minions_denied", "minions_autosign"];
/** Folders with minions' data. Besides the master's user at most its group may read them. */
const dataFolders = ["jobs", "minions"];
const openMode = 0o755;
const dataMode = 0o750;
const pkiMode = 0o700;
const permissionBits = 0o777;
/** The umask that the process inherits could hide shared files or expose private ones. Files set narrower modes themselves. */
const umask = 0o022;

/**
 * Makes the directories and sets the process' umask. Existing directories keep their modes, except for a
 * `pki_dir` with modes other than 0700 and 0750.
 */
export function prepareDirectories(config: Pick<MasterConfig, "pki_dir" | "cachedir" | "sock_dir">): void {
  process.umask(umask);
  mkdirSync(dirname(config.pki_dir), { recursive: true, mode: openMode });
  mkdirSync(config.pki_dir, { recursive: true, mode: pkiMode });
  // As in Salt: 0700, unless an operator set 0750.
  const mode = statSync(config.pki_dir).mode & permissionBits;
  if (mode !== pkiMode && mode !== dataMode) chmodSync(config.pki_dir, pkiMode);
  for (const name of keyFolders) mkdirSync(join(config.pki_dir, name), { recursive: true, mode: openMode });
  for (const path of [config.cachedir, config.sock_dir, join(config.cachedir, "proc")])
    mkdirSync(path, { recursive: true, mode: openMode });
  for (const name of dataFolders) mkdirSync(join(config.cachedir, name), { recursive: true, mode: dataMode });
}
