/** Changes a daemon that root started to the user of its `user` option, for good, after all work that needs root. */
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../config/host/program.ts";
import { SaltworksError } from "../../errors.ts";
import type { Host } from "../host/host.ts";
import { changeTo, userToBecome } from "../input/process-user.ts";
import { giveFiles, type OwnedFiles } from "./own-files.ts";

export type DaemonUser = {
  readonly user: string;
  readonly files: OwnedFiles;
  /** Other work that needs root, such as ports below 1024. */
  readonly asRoot?: () => Promise<void>;
};

/** Exit code of Salt's daemons that may not become their user. */
const refusedExitCode = 1;

/**
 * @param warn gets files that keep another owner
 * @returns whether the process has changed its user
 * @throws Exit if the user does not exist, or if this process is not root and so cannot change its user
 */
export async function becomeDaemonUser(
  daemon: DaemonUser,
  host: Host,
  warn: (sentence: string) => void,
): Promise<boolean> {
  const user = await userToBecome(daemon.user, host, refusedExitCode);
  if (user === undefined) return false;
  if (process.platform !== "linux")
    throw new SaltworksError(
      "CONFIG_INVALID",
      `user: ${daemon.user}: only on Linux can root start a daemon as another user`,
    );
  // Imported as root, because the new user may lack the right to read the program's packages.
  const { allowOwnProcFiles } = await import("../host/system-calls.ts");
  await daemon.asRoot?.();
  giveFiles(daemon.files, user, warn);
  changeTo(user);
  allowOwnProcFiles();
  assertReadable(user.name);
  if (user.uid !== 0) assertRootIsGone(user.uid);
  return true;
}

/** Checks that the user can read the program's files, because threads load them later. @throws SaltworksError CONFIG_INVALID */
function assertReadable(user: string): void {
  try {
    accessSync(fileURLToPath(import.meta.url), constants.R_OK);
    accessSync(join(packageRoot(), "node_modules"), constants.R_OK | constants.X_OK);
  } catch (cause) {
    const sentence = `user: ${user} may not read this program in ${packageRoot()}: install it where that user may, such as /opt`;
    throw new SaltworksError("CONFIG_INVALID", sentence, {}, { cause });
  }
}

/** Checks every thread, including those of Node.js and of libraries. @throws SaltworksError SYSTEM_REFUSED */
function assertRootIsGone(uid: number): void {
  for (const thread of readdirSync("/proc/self/task")) {
    const status = readFileSync(`/proc/self/task/${thread}/status`, "utf8");
    const uids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
    const capabilities = ["CapPrm", "CapEff", "CapAmb"].map((name) => new RegExp(`^${name}:\\s+0+$`, "m").test(status));
    if (uids.some((value) => Number(value) !== uid) || capabilities.includes(false))
      throw new SaltworksError("SYSTEM_REFUSED", `thread ${thread} of this process is still root`);
  }
  try {
    process.setuid?.(0);
  } catch {
    return;
  }
  throw new SaltworksError("SYSTEM_REFUSED", "this process can become root again");
}
