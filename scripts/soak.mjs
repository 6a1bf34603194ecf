// Runs the tests under test/security, test/fault, test/fleet/databases and test/cluster in their long forms, the programs named `*.soak.ts` there, one file
// at a time, and then the growth of the master's memory. Takes hours; started by hand.
// Arguments: seconds for each program (default 600), and words that a file's path must hold. SALTWORKS_FAULT_ROUNDS is the number of repeats
// of each test; every test prints the seed of its random choices. Ends with 1 if a test failed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const longRounds = "50";
const given = process.argv.slice(2);
const seconds = given.find((word) => /^\d+$/.test(word)) ?? "600";
const words = given.filter((word) => !/^\d+$/.test(word));

const files = ["security", "fault", "fleet/databases", "cluster"]
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
/** The bench ends with 2 if the generator was the limit, which does not affect memory; the check looks at the returns. */
const limitedExit = 2;

function runsGrowth() {
  const folder = mkdtempSync(join(tmpdir(), "saltworks-growth-"));
  const minutes = Math.max(1, Math.round(Number(seconds) / 60));
  const bench = [
    "bench",
    "growth",
    "--set",
    `minutes=${minutes}`,
    "--set",
    "minions=300",
    "--set",
    "rate=500",
    "--output",
    folder,
  ];
  const asHere = { cwd: root, stdio: "inherit" };
  try {
    const { status } = spawnSync(process.execPath, [join(root, "bin", "saltworks"), ...bench], asHere);
    if (status !== 0 && status !== limitedExit) return false;
    return spawnSync(process.execPath, [join(root, "scripts", "check-growth.mjs"), folder], asHere).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const isGrowthWanted = words.every((word) => "growth".includes(word));
if (isGrowthWanted && !runsGrowth()) process.exitCode = 1;
if (files.length === 0 && !isGrowthWanted) {
  process.stderr.write(
    "no test or program of that name under test/security, test/fault, test/fleet/databases or test/cluster, and not growth\n",
  );
  process.exitCode = 1;
}
