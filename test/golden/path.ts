/** Paths of recordings of real Salt: commands on a fleet, commands on changed masters or with waits, and all others. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";

const folders = ["test/golden", "test/golden/commands", "test/golden/masters"];

/** The path of a recording by its name, `batch.json`. @throws Error if it does not exist */
export function goldenPath(name: string): string {
  const path = folders.map((folder) => join(repositoryRoot, folder, name)).find((candidate) => existsSync(candidate));
  if (path === undefined) throw new Error(`no recording ${name} in ${folders.join(", ")}`);
  return path;
}
