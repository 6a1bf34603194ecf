// Runs every compiled test with node's own runner; extra arguments are name filters on the file path.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? testFiles(path) : path.endsWith(".test.js") ? [path] : [];
  });
}

const filters = process.argv.slice(2);
const files = testFiles(join(root, "dist", "test")).filter((file) => filters.every((word) => file.includes(word)));
if (files.length === 0) {
  process.stderr.write(`no test file matches ${filters.join(" ")}\n`);
  process.exit(1);
}
const done = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-concurrency=2", ...files.sort()], {
  cwd: root,
  stdio: "inherit",
});
process.exit(done.status ?? 1);
