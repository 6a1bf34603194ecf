/** Owner and mode of files for `file.*` states: what is asked for, what differs, and setting it. */
import { chmodSync, chownSync, type Stats, statSync } from "node:fs";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { StateHost } from "../run/contract.ts";

/** An owner's name and id; the id is undefined if this machine does not know the name. */
type Owner = { readonly name: string; readonly id: number | undefined };
/** `mode`: four octal digits. Undefined members are left as they are. */
export type Permissions = {
  readonly user: Owner | undefined;
  readonly group: Owner | undefined;
  readonly mode: string | undefined;
};

const modeMask = 0o7777;

/** A mode in Salt's form: `750` and `0o750` are `0750`. */
export function modeText(value: Value): string | undefined {
  if (value === null || value === "") return undefined;
  return strOf(value)
    .replace(/^['"]|['"]$/g, "")
    .replace(/^0o/i, "0")
    .padStart(4, "0");
}

export async function permissionsOf(host: StateHost, args: ValueMap, mode: Value): Promise<Permissions> {
  const owner = async (kind: "user" | "group") => {
    const value = args.get(kind) ?? null;
    if (value !== 0 && !isTrue(value)) return undefined;
    return { name: strOf(value), id: await host.ownerId(kind, strOf(value)) };
  };
  return { user: await owner("user"), group: await owner("group"), mode: modeText(mode) };
}

/** Salt's sentence about a user or group that does not exist; empty if both do. */
export function ownerFault({ user, group }: Permissions): string {
  const ofUser = user !== undefined && user.id === undefined ? `User ${user.name} is not available ` : "";
  return ofUser + (group !== undefined && group.id === undefined ? `Group ${group.name} is not available` : "");
}

/** What differs, by name: `user`, `group`, `mode`. */
export function differences(path: string, wanted: Permissions): ValueMap {
  const changes: ValueMap = new Map();
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return changes;
  if (wanted.user !== undefined && wanted.user.id !== stats.uid) changes.set("user", wanted.user.name);
  if (wanted.group !== undefined && wanted.group.id !== stats.gid) changes.set("group", wanted.group.name);
  if (wanted.mode !== undefined && wanted.mode !== modeOf(stats)) changes.set("mode", wanted.mode);
  return changes;
}

export function modeOf(stats: Stats): string {
  return (stats.mode & modeMask).toString(8).padStart(4, "0");
}

/** Sets owner and mode. @returns what it changed @throws the file system's error */
export function setPermissions(path: string, wanted: Permissions): ValueMap {
  const changes = differences(path, wanted);
  const stats = statSync(path);
  if (changes.has("user") || changes.has("group"))
    chownSync(path, wanted.user?.id ?? stats.uid, wanted.group?.id ?? stats.gid);
  // A change of the owner clears the bits for setuid and setgid.
  if (wanted.mode !== undefined && changes.size > 0) chmodSync(path, Number.parseInt(wanted.mode, 8));
  return changes;
}
