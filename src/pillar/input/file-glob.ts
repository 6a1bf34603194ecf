/** Finds the files that a path with wildcards names. Source: Python's `glob.glob`: wildcards do not match a leading dot or a slash. */
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { statIfThere } from "../../config/files/kinds.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { reactorFilesMax } from "../../limits.ts";
import { compileGlob } from "../../python/fnmatch.ts";

const wildcard = /[*?[]/;

/** Sorted paths. @throws SaltworksError PILLAR_FAILED if there are more than `reactorFilesMax`; errors of the file system but for missing paths */
export function filesNamed(pattern: string): readonly string[] {
  if (!wildcard.test(pattern)) return statIfThere(pattern) === undefined ? [] : [pattern];
  const [parent, name] = [dirname(pattern), basename(pattern)];
  const folders = wildcard.test(parent) ? filesNamed(parent) : [parent];
  const glob = compileGlob(name);
  const found = folders.flatMap((folder) => {
    if (!wildcard.test(name)) return statIfThere(join(folder, name)) === undefined ? [] : [join(folder, name)];
    return namesIn(folder)
      .filter((entry) => (!entry.startsWith(".") || name.startsWith(".")) && glob.matches(entry))
      .map((entry) => join(folder, entry));
  });
  if (found.length > reactorFilesMax)
    throw new SaltworksError("PILLAR_FAILED", `${pattern} names more than ${reactorFilesMax} files`);
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
