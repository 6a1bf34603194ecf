/**
 * Directories of an environment of files or pillars, where `__env__` stands for the name of any environment that has none of its own.
 * Clients choose that name, and it becomes part of a path. Source: Salt 3007's `file_roots` and `pillar_roots`.
 */
import { environmentNameBytesMax } from "../../limits.ts";

/** The key under which the directories of all other environments stand, and the word in them that their names replace. */
export const anyEnvironment = "__env__";

/** Whether a name can be one directory's: it neither leads elsewhere nor is longer than a file system allows. */
export function isEnvironmentName(name: string): boolean {
  return name !== "" && Buffer.byteLength(name) <= environmentNameBytesMax && !/[/\\\0]|^\.\.?$/.test(name);
}

/** `directories` of `__env__` for one environment; undefined for a name that leads elsewhere. */
export function directoriesFor(directories: readonly string[], environment: string): readonly string[] | undefined {
  if (!isEnvironmentName(environment)) return undefined;
  return directories.map((directory) => directory.replaceAll(anyEnvironment, () => environment));
}
