/** Temporary directories, removed after the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

/** Makes fresh directories; all are removed when the surrounding suite ends. */
export function temporaryDirectories(): () => string {
  const made: string[] = [];
  after(() => {
    for (const directory of made) rmSync(directory, { recursive: true, force: true });
  });
  return () => {
    const directory = mkdtempSync(join(tmpdir(), "saltworks-store-"));
    made.push(directory);
    return directory;
  };
}
