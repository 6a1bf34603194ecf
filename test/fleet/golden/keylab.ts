/** The key directory on which salt-key's transcripts were recorded, and how the recorder restored it. */
import { join } from "node:path";
import { laboratoryResets, resetLaboratory } from "../../cli/keys/key-laboratory.ts";
import { writeSettings } from "./files.ts";
import type { GoldenFleet } from "./fleet.ts";

export function keyLabConfigDir(fleet: GoldenFleet): string {
  return join(fleet.root, "keylab/etc");
}

export function prepareKeyLab(fleet: GoldenFleet, name: string): void {
  const lab = join(fleet.root, "keylab");
  if (name === "list_empty") {
    const directories = { pki_dir: join(lab, "pki"), cachedir: join(lab, "cache"), sock_dir: join(lab, "run") };
    writeSettings(join(keyLabConfigDir(fleet), "master"), directories);
  }
  if (laboratoryResets.has(name)) resetLaboratory(join(lab, "pki"));
}
