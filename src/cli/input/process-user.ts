/** `-u`: root becomes another user before the command does anything. Source: salt-key, also for exit codes. */

import { ownUserName } from "../../config/host/user.ts";
import { findUser, type User } from "../../minion/modules/machine/user-database.ts";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";

/** Exit codes of sysexits. */
const noUserExitCode = 67;
const noPermissionExitCode = 77;

/** Node's own types lack `initgroups`. */
type Changing = NodeJS.Process & { readonly initgroups?: (user: string, group: number) => void };

/**
 * The user that this process must become; undefined if it is that user already.
 *
 * @throws Exit if the user does not exist, or with `refusedExitCode` if this process may not become it
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

/** Changes the user for good: groups first, because only root may change them. As in Salt, environment variables of the user change, too. */
export function changeTo(user: User): void {
  (process as Changing).initgroups?.(user.name, user.gid);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
  const names = { HOME: user.home, SHELL: user.shell, USER: user.name, LOGNAME: user.name };
  for (const [name, value] of Object.entries(names)) if (process.env[name] !== undefined) process.env[name] = value;
}

/**
 * Runs `step` with the rights of another user, because what this user owns may be links to anything. Root has its own rights again afterwards.
 *
 * @param user undefined for the user that this process is already
 */
export async function asUser<Result>(user: User | undefined, step: () => Promise<Result>): Promise<Result> {
  if (user === undefined) return await step();
  const { HOME: home } = process.env;
  const groups = process.getgroups?.() ?? [];
  (process as Changing).initgroups?.(user.name, user.gid);
  process.setegid?.(user.gid);
  process.seteuid?.(user.uid);
  process.env.HOME = user.home;
  try {
    return await step();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
    if (home === undefined) delete process.env.HOME;
    else process.env.HOME = home;
  }
}

/** @throws Exit as `userToBecome` */
export async function becomeUser(name: string, host: Host): Promise<void> {
  const user = await userToBecome(name, host);
  if (user !== undefined) changeTo(user);
}

/** The uid for new files of this user; undefined if the files belong to the right user without a change. */
export async function ownerUid(name: string): Promise<number | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const user = await findUser(name);
  return user === undefined || user.uid === 0 ? undefined : user.uid;
}
