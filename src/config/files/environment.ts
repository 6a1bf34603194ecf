/**
 * Directories of an environment of files or pillars. `__env__` stands for any environment that has no directories of its own. Clients choose
 * the environment's name, which becomes part of a path. Source: Salt 3007's `file_roots` and `pillar_roots`.
 */
import { environmentNameBytesMax } from "../../limits.ts";

/** The key of the directories for all other environments. In their paths, the environment's name replaces this word. */
export const anyEnvironment = "__env__";

/** Whether a name is a single directory name (not `..`, no slash) of at most `environmentNameBytesMax` bytes. */
export function isEnvironmentName(name: string): boolean {
  return name !== "" && Buffer.byteLength(name) <= environmentNameBytesMax && !/[/\\\0]|^\.\.?$/.test(name);
}

/** `directories` of `__env__` for one environment; undefined if `isEnvironmentName` refuses the name. */
export function directoriesFor(directories: readonly string[], environment: string): readonly string[] | undefined {
  if (!isEnvironmentName(environment)) return undefined;
  return directories.map((directory) => directory.replaceAll(anyEnvironment, () => environment));
}
