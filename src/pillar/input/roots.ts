/** The directories of pillar files by environment, as one question means them. */
import { anyEnvironment, directoriesFor } from "../../config/files/environment.ts";

/** `__env__` stands for the environment that is asked for, if that has no directories of its own. */
export function dynamicRoots(
  roots: ReadonlyMap<string, readonly string[]>,
  environment: string,
): ReadonlyMap<string, readonly string[]> {
  const dynamic = roots.get(anyEnvironment);
  if (dynamic === undefined) return roots;
  const known = new Map([...roots].filter(([name]) => name !== anyEnvironment));
  if (environment === anyEnvironment || (known.get(environment)?.length ?? 0) > 0) return known;
  // A name that leads elsewhere is one that is not there.
  const directories = directoriesFor(dynamic, environment);
  if (directories !== undefined) known.set(environment, directories);
  return known;
}
