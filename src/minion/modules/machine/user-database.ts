/** Users and groups of this machine, by name: from the name service (`getent`), else from /etc/passwd and /etc/group. */

import { readTextIfAny } from "./file-error.ts";
import { runProgram } from "./run-program.ts";

export type User = {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
};

export async function findUser(name: string): Promise<User | undefined> {
  const fields = await entryOf("passwd", name);
  if (fields === undefined) return undefined;
  const [found = name, , uid, gid, , home = "/", shell = ""] = fields;
  return { name: found, uid: Number(uid), gid: Number(gid), home, shell };
}

export async function findUserById(uid: number): Promise<User | undefined> {
  return findUser(String(uid));
}

/** The group's id; undefined for an unknown group. */
export async function findGroupId(name: string): Promise<number | undefined> {
  const fields = await entryOf("group", name);
  return fields === undefined ? undefined : Number(fields[2]);
}

export async function groupNameOf(gid: number): Promise<string | undefined> {
  return (await entryOf("group", String(gid)))?.[0];
}

/** `key` is a name or, in digits, an id. Undefined for a name that looks like an option or a path. */
async function entryOf(database: "passwd" | "group", key: string): Promise<string[] | undefined> {
  if (key === "" || key.startsWith("-") || /[:\n\0]/.test(key)) return undefined;
  const asked = await runProgram("getent", [database, key]);
  if (asked.isFound) return asked.exitCode === 0 ? (asked.stdout.split("\n")[0] ?? "").split(":") : undefined;
  const lines = (readTextIfAny(`/etc/${database}`) ?? "").split("\n").map((line) => line.split(":"));
  return lines.find((fields) => fields[0] === key || (/^\d+$/.test(key) && fields[2] === key));
}
