/** Where recordings of real Salt stand: its commands on a fleet, the same on masters that are changed or awaited, and all others. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";

const folders = ["test/golden", "test/golden/commands", "test/golden/masters"];

/** The path of a recording by its name, `batch.json`. @throws Error if there is none */
export function goldenPath(name: string): string {
  const path = folders.map((folder) => join(repositoryRoot, folder, name)).find((candidate) => existsSync(candidate));
  if (path === undefined) throw new Error(`no recording ${name} in ${folders.join(", ")}`);
  return path;
}
