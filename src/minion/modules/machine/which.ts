/** Finds a program as Salt's `cmd.which` does: in PATH, then in the usual directories. */
import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "./environment.ts";
import { isFileError } from "./file-error.ts";

/** Searched even if PATH lacks them, because the PATH of a service is often short. */
const usualDirectories = ["/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];

/** The path of an executable file; undefined if there is none. If `name` is itself the path of one, returns it unchanged. */
export function which(name: string, environment: Environment): string | undefined {
  if (name === "") return undefined;
  if (isExecutableFile(name)) return name;
  const listed = (environment.PATH ?? "").split(":");
  const directories = [...listed, ...usualDirectories.filter((directory) => !listed.includes(directory))];
  return directories.map((directory) => join(directory, name)).find(isExecutableFile);
}

/** The file that `execvp` would start: a name with a slash as it is, others from PATH only. */
export function executableOf(name: string, path: string | undefined): string | undefined {
  if (name.includes("/")) return isExecutableFile(name) ? name : undefined;
  const directories = (path ?? "/bin:/usr/bin").split(":");
  return directories.map((directory) => join(directory, name)).find(isExecutableFile);
}

export function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch (error) {
    if (isFileError(error)) return false;
    throw error;
  }
}
