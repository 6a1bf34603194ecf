/** Reads a workload from its text, as `saltworks bench` reads the file. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readWorkload } from "../../../bench/workload/read.ts";
import type { Workload } from "../../../bench/workload/schema.ts";

export function readWorkloadText(text: string): Workload {
  const directory = mkdtempSync(join(tmpdir(), "sw-workload-"));
  try {
    const file = join(directory, "w.yaml");
    writeFileSync(file, text);
    return readWorkload(file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
