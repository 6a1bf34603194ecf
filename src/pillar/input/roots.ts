/** Directories of pillar files by environment, for one request. */
import { anyEnvironment, directoriesFor } from "../../config/files/environment.ts";

/** If the requested environment has no directories, it gets those of `__env__`. */
export function dynamicRoots(
  roots: ReadonlyMap<string, readonly string[]>,
  environment: string,
): ReadonlyMap<string, readonly string[]> {
  const dynamic = roots.get(anyEnvironment);
  if (dynamic === undefined) return roots;
  const known = new Map([...roots].filter(([name]) => name !== anyEnvironment));
  if (environment === anyEnvironment || (known.get(environment)?.length ?? 0) > 0) return known;
  // An environment name that would lead outside these directories counts as unknown.
  const directories = directoriesFor(dynamic, environment);
  if (directories !== undefined) known.set(environment, directories);
  return known;
}
