/** Resolves `runas` and `group` of a command to ids, and reads the variables that a login of that user sets. */
import { commandError } from "../../functions/errors.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { runProgram } from "../machine/run-program.ts";
import { findGroupId, findUser, findUserById } from "../machine/user-database.ts";
import type { CommandOptions } from "./options.ts";

export type Identity = {
  readonly name: string;
  readonly home: string;
  /** Undefined if the minion already runs as this user and group. */
  readonly ids: { readonly uid: number; readonly gid: number } | undefined;
};

/**
 * @returns undefined if the command runs as the minion does.
 * @throws SaltworksError FUNCTION_FAILED for unknown names, or if the minion is not root
 */
export async function findIdentity(options: Pick<CommandOptions, "runas" | "group">): Promise<Identity | undefined> {
  if (options.runas === undefined && options.group === undefined) return undefined;
  const uid = process.getuid?.() ?? 0;
  const user = await (options.runas === undefined ? findUserById(uid) : findUser(options.runas));
  if (user === undefined) throw commandError(`User '${options.runas ?? uid}' is not available`);
  const gid = options.group === undefined ? user.gid : await findGroupId(options.group);
  if (gid === undefined) throw commandError(`Group '${options.group}' is not available`);
  const isSame = user.uid === uid && gid === process.getgid?.();
  if (!isSame && uid !== 0) {
    const what = user.uid === uid ? `gid ${process.getgid?.()} to ${gid}` : `uid ${uid} to ${user.uid}`;
    throw commandError(`Failed to change from ${what}. Error: [Errno 1] Operation not permitted`);
  }
  return { name: user.name, home: user.home, ids: isSame ? undefined : { uid: user.uid, gid } };
}

/** Variables that a login of the user sets, read with `su`. Logs a failure and returns none. */
export async function loginVariables(
  context: CallContext,
  identity: Identity,
  shell: string | undefined,
): Promise<Map<string, string>> {
  if (identity.ids === undefined) return new Map();
  const asked = await runProgram("su", [
    ...(shell === undefined ? [] : ["-s", shell]),
    "-",
    identity.name,
    "-c",
    `printf '${marker}'; env -0; printf '${marker}'`,
  ]);
  const parts = asked.stdout.split(marker);
  if (asked.exitCode !== 0 || parts.length !== 3) {
    context.log.error(`Environment could not be retrieved for user '${identity.name}'`);
    return new Map();
  }
  const entries = (parts[1] ?? "").split("\0").filter((entry) => entry.includes("="));
  return new Map(entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]));
}

/** Printed before and after the variables, because a login may print other text too. */
const marker = "<<<saltworks-environment>>>";
