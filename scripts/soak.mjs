// Runs the tests under test/security and test/fault in their long forms, and the programs named `*.soak.ts` there, one file at a time: hours, by hand.
// Arguments: how many seconds each program may take (default 600), and words that a file's path must hold. SALTWORKS_FAULT_ROUNDS is how often
// each test is repeated; every test prints the seed of what it draws. Ends with 1 if one of them failed.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const longRounds = "50";
const given = process.argv.slice(2);
const seconds = given.find((word) => /^\d+$/.test(word)) ?? "600";
const words = given.filter((word) => !/^\d+$/.test(word));

const files = ["security", "fault"]
  .map((folder) => join(root, "dist", "test", folder))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((file) => /\.(?:test|soak)\.js$/.test(file) && words.every((word) => file.includes(word)));
const env = {
  SALTWORKS_FAULT_ROUNDS: longRounds,
  SALTWORKS_SOAK: "1",
  SALTWORKS_SOAK_SECONDS: seconds,
  ...process.env,
};
for (const file of files) {
  const testFlags = file.endsWith(".test.js") ? ["--test", "--test-reporter=spec"] : [];
  const flags = ["--enable-source-maps", ...testFlags, file];
  if (spawnSync(process.execPath, flags, { cwd: root, stdio: "inherit", env }).status !== 0) process.exitCode = 1;
}
if (files.length === 0) {
  process.stderr.write("no test or program of that name under test/security or test/fault\n");
  process.exitCode = 1;
}
