// Runs the tests under test/security and test/fault in their long forms, one file at a time: hours, by hand. Arguments: words that a file's path must hold.
// SALTWORKS_FAULT_ROUNDS is how often each is repeated; every test prints the seed of what it draws.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const longRounds = "50";
const words = process.argv.slice(2);

const files = ["security", "fault"]
  .map((folder) => join(root, "dist", "test", folder))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((file) => file.endsWith(".test.js") && words.every((word) => file.includes(word)));
const env = { SALTWORKS_FAULT_ROUNDS: longRounds, SALTWORKS_SOAK: "1", ...process.env };
for (const file of files) {
  const flags = ["--enable-source-maps", "--test", "--test-reporter=spec", file];
  if (spawnSync(process.execPath, flags, { cwd: root, stdio: "inherit", env }).status !== 0) process.exitCode = 1;
}
