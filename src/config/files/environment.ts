/**
 * Directories of an environment of files or pillars. `__env__` stands for any environment without directories. Clients choose that name,
 * which becomes part of a path. Source: Salt 3007's `file_roots` and `pillar_roots`.
 */
import { environmentNameBytesMax } from "../../limits.ts";

/** The key of the directories for all other environments, and the word in them that the environment's name replaces. */
export const anyEnvironment = "__env__";

/** Whether a name can be the name of one directory: it neither leads elsewhere nor exceeds `environmentNameBytesMax`. */
export function isEnvironmentName(name: string): boolean {
  return name !== "" && Buffer.byteLength(name) <= environmentNameBytesMax && !/[/\\\0]|^\.\.?$/.test(name);
}

/** `directories` of `__env__` for one environment; undefined for a name that leads elsewhere. */
export function directoriesFor(directories: readonly string[], environment: string): readonly string[] | undefined {
  if (!isEnvironmentName(environment)) return undefined;
  return directories.map((directory) => directory.replaceAll(anyEnvironment, () => environment));
}
