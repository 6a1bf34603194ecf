/** Execution module `user`: the users that the system knows. Source: Salt 3007's `user` for Linux, docs/functions.md. */
import { strOf } from "../../../python/repr.ts";
import type { Encodable } from "../../../wire/values.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { runProgram } from "../machine/run-program.ts";

export const userModule: ModuleFunctions = {
  "user.info": {
    ...signature("name, root=None"),
    doc: describe("The user's entry in the system's database; empty for an unknown user.", "user.info root"),
    run: async (_, args) => {
      const [row] = await rowsOf("passwd", strOf(argument(args, "name")));
      return row === undefined ? {} : await userOf(row);
    },
  },
  "user.list_users": {
    ...signature("root=None"),
    doc: describe("The names of all users, sorted.", "user.list_users"),
    run: async () => (await rowsOf("passwd")).map(([name = ""]) => name).sort(),
  },
  "user.list_groups": {
    ...signature("name"),
    doc: describe("The names of the groups that a user is in, sorted.", "user.list_groups root"),
    run: (_, args) => groupsOf(strOf(argument(args, "name"))),
  },
  "user.primary_group": {
    ...signature("name"),
    doc: describe("The name of a user's primary group, empty for an unknown user.", "user.primary_group root"),
    run: async (_, args) => {
      const [row] = await rowsOf("passwd", strOf(argument(args, "name")));
      return row === undefined ? "" : await groupName(row[3] ?? "");
    },
  },
};

/** Lines of one of the system's databases, split at colons. */
async function rowsOf(database: "passwd" | "group", ...keys: readonly string[]): Promise<string[][]> {
  // Without `--`, a name that begins with a dash would be an option.
  const { stdout, exitCode } = await runProgram("getent", [database, "--", ...keys]);
  if (exitCode !== 0) return [];
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split(":")]));
}

async function userOf(row: readonly string[]): Promise<Encodable> {
  const [name = "", passwd = "", uid = "", gid = "", gecos = "", home = "", shell = ""] = row;
  const [fullname = "", roomnumber = "", workphone = "", homephone = "", ...other] = gecos.split(",");
  return {
    gid: Number(gid),
    groups: await groupsOf(name),
    home,
    name,
    passwd,
    shell,
    uid: Number(uid),
    fullname,
    roomnumber,
    workphone,
    homephone,
    other: other.join(","),
  };
}

async function groupsOf(name: string): Promise<string[]> {
  const { stdout, exitCode } = await runProgram("id", ["-Gn", "--", name]);
  return exitCode === 0 ? stdout.trim().split(" ").sort() : [];
}

async function groupName(gid: string): Promise<string> {
  const [row] = await rowsOf("group", gid);
  return row?.[0] ?? "";
}
