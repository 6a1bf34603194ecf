/** Where an operator's own files are, as Salt searches: an existing directory `salt` in XDG_CONFIG_HOME wins over the home directory. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDirectory } from "../../config/files/kinds.ts";
import type { Host } from "./host.ts";

/** A directory that this user may not look into counts as none, as in Salt. */
export function ownFilePath(
  { environment }: Pick<Host, "environment">,
  home: string,
  names: { readonly inDirectory: string; readonly atHome: string },
): string {
  const directory = join(environment.XDG_CONFIG_HOME || join(home, ".config"), "salt");
  const isThere = existsSync(directory) && isDirectory(directory);
  return isThere ? join(directory, names.inDirectory) : join(home, names.atHome);
}
