// Runs every compiled test with node's own runner, in two groups: those that share the machine well side by side, then those
// that start whole masters and fleets, one file at a time, or two where they mostly wait. Arguments: `--group light|heavy`, and words that
// a file's path must hold. What failed is run once more: what fails then, too, fails the run; what doesn't is named as unsteady, to be mended.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const testRoot = join(root, "dist", "test");
const heavyFolders = ["fault", "fleet", "interop", "security"];
/** Files that mostly wait for minions and for Salt's own timeouts: two at a time take half as long. The longest first, so that both lanes end together. */
const waitingFiles = [
  /interop\/golden\/commands\./,
  /fleet\/golden\/(?:commands|jobs|masters)\.|interop\/golden\/(?:waits|salt-commands)\./,
  /fleet\/(?:masters\/daemons|jobs\/(?:jobs|missing-returns|deliver-within|batches|runner-answers|schedules)|rights\/(?:key-removals|forged-events))\./,
  /interop\/(?:takeover|runners|mines|lookup|accept-missing|deliver-within|pillars|operators\/(?:external-auth|restricted-users|forged-events))\./,
];

function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? testFiles(path) : path.endsWith(".test.js") ? [path] : [];
  });
}

function groupOf(file) {
  return heavyFolders.includes(relative(testRoot, file).split("/")[0] ?? "") ? "heavy" : "light";
}

const options = ["--enable-source-maps", "--test", "--test-reporter=spec"];

/** Runners under way. Each leads a process group: a signal for this program reaches its tests, too, and what they started ends with them. */
const runners = new Set();
const endGraceMs = 10_000;

function startRunner(flags, stdio) {
  const child = spawn(process.execPath, flags, { cwd: root, stdio, detached: true });
  runners.add(child);
  child.once("exit", () => runners.delete(child));
  return child;
}

function signalRunners(signal) {
  for (const { pid } of runners) {
    try {
      process.kill(-pid, signal);
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}

for (const [signal, exitCode] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
]) {
  process.once(signal, () => {
    const ends = [...runners].map((child) => once(child, "exit"));
    process.once("exit", () => signalRunners("SIGKILL"));
    signalRunners(signal === "SIGHUP" ? "SIGTERM" : signal);
    setTimeout(() => process.exit(exitCode), endGraceMs);
    void Promise.all(ends).then(() => process.exit(exitCode));
  });
}

async function run(files, concurrency) {
  const flags = [...options, `--test-concurrency=${concurrency}`, ...files.sort()];
  const [status] = await once(startRunner(flags, ["ignore", "inherit", "inherit"]), "exit");
  return status ?? 1;
}

/** As `run` for one file, beside others: what it prints comes at its end, in one piece. */
async function runBesideOthers(file) {
  const child = startRunner([...options, file], ["ignore", "pipe", "pipe"]);
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => printed.push(chunk));
  const [status] = await once(child, "close");
  process.stdout.write(Buffer.concat(printed));
  return status ?? 1;
}

const { values, positionals: words } = parseArgs({ allowPositionals: true, options: { group: { type: "string" } } });
const files = testFiles(testRoot).filter((file) => words.every((word) => relative(root, file).includes(word)));
const groups = ["light", "heavy"].filter((group) => values.group === undefined || values.group === group);
const chosen = groups.map((group) => files.filter((file) => groupOf(file) === group));
if (chosen.every((group) => group.length === 0)) {
  process.stderr.write(`no test file matches ${process.argv.slice(2).join(" ")}\n`);
  process.exit(1);
}
/** More files than this are not unsteady, they fail. */
const secondLooksMax = 3;

async function runOnceMore(files, concurrency, what) {
  process.stdout.write(`\nOnce more: ${what}\n`);
  const status = await run(files, concurrency);
  if (status === 0) process.stdout.write(`\nUnsteady, passed when run once more: ${what}\n`);
  return status;
}

/** Each file of whole fleets in a runner of its own, which tells which one it is that failed. */
async function runHeavy(files) {
  const failed = [];
  const waiting = waitingFiles.flatMap((pattern) => files.filter((file) => pattern.test(file)));
  const queue = [...waiting];
  const lane = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      if ((await runBesideOthers(file)) !== 0) failed.push(file);
    }
  };
  await Promise.all([lane(), lane()]);
  for (const file of files) if (!waiting.includes(file) && (await run([file], 1)) !== 0) failed.push(file);
  const names = failed.map((file) => relative(testRoot, file)).join(" ");
  process.stdout.write(`\nFiles of whole fleets: ${files.length}, with failed tests: ${failed.length} ${names}\n`);
  if (failed.length === 0) return 0;
  return failed.length > secondLooksMax ? 1 : await runOnceMore(failed, 1, names);
}

async function runLight(files) {
  return (await run(files, 2)) === 0 ? 0 : await runOnceMore(files, 2, "all light files, see above for what failed");
}

let status = 0;
for (const [index, group] of chosen.entries()) {
  if (group.length > 0) status = (await (groups[index] === "light" ? runLight(group) : runHeavy(group))) || status;
}
process.exit(status);
