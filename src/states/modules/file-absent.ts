/** State `file.absent`. Source: Salt 3007's states, recorded in test/golden/states. */
import { lstatSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { strOf } from "../../python/repr.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { StateContext, StateFunction, StateResult } from "../run/contract.ts";
import { stateResult } from "../run/result.ts";

function absent({ isTest }: StateContext, args: ValueMap): StateResult {
  const path = expanded(strOf(args.get("name") ?? null));
  if (path === "") return stateResult(path, false, "Must provide name to file.absent");
  if (!isAbsolute(path)) return stateResult(path, false, `Specified file ${path} is not an absolute path`);
  if (path === "/") return stateResult(path, false, 'Refusing to make "/" absent');
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return stateResult(path, true, `File ${path} is not present`);
  const isDirectory = stats.isDirectory();
  const changes = new Map([["removed", path]]);
  if (isTest)
    return stateResult(path, null, `${isDirectory ? "Directory" : "File"} ${path} is set for removal`, changes);
  try {
    rmSync(path, { recursive: isDirectory });
  } catch (error) {
    return stateResult(path, false, (error as Error).message);
  }
  return stateResult(path, true, `Removed ${isDirectory ? "directory" : "file"} ${path}`, changes);
}

/** `~` at the start means the home directory of this process's user. */
export function expanded(path: string): string {
  return path === "~" || path.startsWith("~/") ? homedir() + path.slice(1) : path;
}

export const absentState: StateFunction = { params: { name: undefined }, takesMore: true, run: absent };
