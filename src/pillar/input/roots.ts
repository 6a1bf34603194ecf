/** Directories of pillar files by environment, for one request. */
import { anyEnvironment, directoriesFor } from "../../config/files/environment.ts";

/** `__env__` stands for the requested environment if that has no directories. */
export function dynamicRoots(
  roots: ReadonlyMap<string, readonly string[]>,
  environment: string,
): ReadonlyMap<string, readonly string[]> {
  const dynamic = roots.get(anyEnvironment);
  if (dynamic === undefined) return roots;
  const known = new Map([...roots].filter(([name]) => name !== anyEnvironment));
  if (environment === anyEnvironment || (known.get(environment)?.length ?? 0) > 0) return known;
  // Names that lead elsewhere are treated as unknown.
  const directories = directoriesFor(dynamic, environment);
  if (directories !== undefined) known.set(environment, directories);
  return known;
}
