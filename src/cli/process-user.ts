/** Whom a command runs as: `-u` makes root another user before anything is done. Source: salt-key's own way, with its exit codes. */
import { findUser } from "../minion/modules/user-database.ts";
import { Exit } from "./command-line.ts";
import type { Host } from "./host.ts";
import { ownUserName } from "./own-user.ts";

/** Exit codes of sysexits. */
const noUserExitCode = 67;
const noPermissionExitCode = 77;

/** Node's own typings leave `initgroups` out. */
type Changing = NodeJS.Process & { readonly initgroups?: (user: string, group: number) => void };

/** @throws Exit if there is no such user, or if this one may not become him */
export async function becomeUser(name: string, host: Host): Promise<void> {
  const user = await findUser(name);
  if (user === undefined) {
    host.complain(`Failed to prepare the Salt environment for user ${name}. The user is not available.\n`);
    throw new Exit(noUserExitCode);
  }
  if (user.name === ownUserName()) return;
  const system: Changing = process;
  if (process.getuid?.() !== 0 || system.initgroups === undefined) {
    host.complain(`[CRITICAL] Salt configured to run as user "${name}" but unable to switch.\n`);
    throw new Exit(noPermissionExitCode);
  }
  system.initgroups(user.name, user.gid);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
}

/** The user to whom new files are given; undefined where they belong to the right one anyway. */
export async function ownerUid(name: string): Promise<number | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const user = await findUser(name);
  return user === undefined || user.uid === 0 ? undefined : user.uid;
}
