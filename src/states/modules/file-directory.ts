/** State `file.directory`. Source: Salt 3007's states, recorded in test/golden/states. */
import { lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { StateContext, StateFunction, StateResult } from "../run/contract.ts";
import { stateResult } from "../run/result.ts";
import { expanded } from "./file-absent.ts";
import { differences, ownerFault, type Permissions, permissionsOf, setPermissions } from "./file-permissions.ts";

/** Arguments of Salt's state that this program does not have. */
const unsupported = ["recurse", "max_depth", "clean", "exclude_pat", "force", "backupname", "children_only"];
const params = {
  name: undefined,
  user: null,
  group: null,
  recurse: null,
  max_depth: null,
  dir_mode: null,
  file_mode: null,
  makedirs: false,
  clean: false,
  require: null,
  exclude_pat: null,
  follow_symlinks: false,
  force: false,
  backupname: null,
  allow_symlink: true,
  children_only: false,
};

async function directory(context: StateContext, args: ValueMap): Promise<StateResult> {
  const { host, isTest } = context;
  const given = expanded(strOf(args.get("name") ?? null));
  const name = given.length > 1 ? given.replace(/\/$/, "") : given;
  const fail = (comment: string) => stateResult(given, false, comment);
  const refused = unsupported.find((key) => isTrue(args.get(key) ?? null));
  if (refused !== undefined) return fail(`${refused} of file.directory is not supported by this program's states`);
  if (name === "") return fail("Must provide name to file.directory");
  const mode = isTrue(args.get("dir_mode") ?? null) ? args.get("dir_mode") : args.get("mode");
  const wanted = await permissionsOf(host, args, mode ?? null);
  const fault = isTest ? "" : ownerFault(wanted);
  if (fault !== "") return fail(fault);
  if (!isAbsolute(name)) return fail(`Specified file ${name} is not an absolute path`);
  const stats = statSync(name, { throwIfNoEntry: false });
  const isLink = lstatSync(name, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (stats?.isFile() === true) return fail(`Specified location ${name} exists and is a file`);
  if (isLink && !isTrue(args.get("allow_symlink") ?? true))
    return fail(`Specified location ${name} exists and is a symlink`);
  const isThere = stats?.isDirectory() === true;
  const own = isThere ? differences(name, wanted) : new Map<Value, Value>([["directory", "new"]]);
  if (own.size === 0) return stateResult(given, true, `The directory ${name} is in the correct state`);
  const changes = new Map<Value, Value>([[name, own]]);
  if (isTest) {
    const lines = Array.from(own, ([key, value]) => `${name}: ${strOf(key)} - ${strOf(value)}\n`);
    return stateResult(given, null, `The following files will be changed:\n${lines.join("")}`, changes);
  }
  return isThere ? changed(given, wanted, changes) : created(given, args, wanted, changes);
}

function changed(name: string, wanted: Permissions, changes: ValueMap): StateResult {
  try {
    for (const [key, value] of setPermissions(name, wanted)) changes.set(key, value);
  } catch (error) {
    return stateResult(name, false, (error as Error).message, changes);
  }
  return stateResult(name, true, `Directory ${name} updated`, changes);
}

function created(name: string, args: ValueMap, wanted: Permissions, changes: ValueMap): StateResult {
  const isParentThere = statSync(dirname(name), { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isParentThere && !isTrue(args.get("makedirs") ?? false))
    return stateResult(name, false, `No directory to create ${name} in`, changes);
  try {
    makeDirectories(name, wanted);
  } catch (error) {
    return stateResult(name, false, (error as Error).message, changes);
  }
  return stateResult(name, true, "", changes);
}

/** Makes a directory and its missing parents, all with these permissions. @throws the file system's error */
export function makeDirectories(path: string, wanted: Permissions): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  makeDirectories(dirname(path), wanted);
  mkdirSync(path);
  setPermissions(path, wanted);
}

export const directoryState: StateFunction = { params, takesMore: true, run: directory };
