/** Whom a command runs as: `-u` makes root another user before anything is done. Source: salt-key's own way, with its exit codes. */

import { ownUserName } from "../../config/host/user.ts";
import { findUser, type User } from "../../minion/modules/machine/user-database.ts";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";

/** Exit codes of sysexits. */
const noUserExitCode = 67;
const noPermissionExitCode = 77;

/** Node's own typings leave `initgroups` out. */
type Changing = NodeJS.Process & { readonly initgroups?: (user: string, group: number) => void };

/**
 * The user of that name, where this process has to change to be it; undefined where it is that user already.
 *
 * @throws Exit if there is no such user, or with `refusedExitCode` if this one may not become that
 */
export async function userToBecome(
  name: string,
  host: Host,
  refusedExitCode = noPermissionExitCode,
): Promise<User | undefined> {
  const user = await findUser(name);
  if (user === undefined || !/^\d+$/.test(`${user.uid}`)) {
    host.complain(`Failed to prepare the Salt environment for user ${name}. The user is not available.\n`);
    throw new Exit(noUserExitCode);
  }
  if (user.name === ownUserName()) return undefined;
  const system: Changing = process;
  if (process.getuid?.() !== 0 || system.initgroups === undefined) {
    host.complain(`[CRITICAL] Salt configured to run as user "${name}" but unable to switch.\n`);
    throw new Exit(refusedExitCode);
  }
  return user;
}

/** For good: groups first, since a user who is not root may not change them. Variables that name the user follow, as Salt has it. */
export function changeTo(user: User): void {
  (process as Changing).initgroups?.(user.name, user.gid);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
  const names = { HOME: user.home, SHELL: user.shell, USER: user.name, LOGNAME: user.name };
  for (const [name, value] of Object.entries(names)) if (process.env[name] !== undefined) process.env[name] = value;
}

/** @throws Exit if there is no such user, or if this one may not become that */
export async function becomeUser(name: string, host: Host): Promise<void> {
  const user = await userToBecome(name, host);
  if (user !== undefined) changeTo(user);
}

/** The user to whom new files are given; undefined where they belong to the right one anyway. */
export async function ownerUid(name: string): Promise<number | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const user = await findUser(name);
  return user === undefined || user.uid === 0 ? undefined : user.uid;
}
