// Runs compiled tests with node's own runner. `npm test` runs the group "light": files that share the machine well and need nothing but Node.
// `npm run test:all` adds the group "heavy": whole masters, fleets and real Salt, one file a runner, two at a time where files mostly wait.
// Arguments: `--group light|heavy|all|node`, and words that a file's path must hold (which look in all groups). "node" are the light files that
// hang on the version of Node: sockets, threads, processes, files, crypto and native packages. A failed test fails the run;
// failed files are run once more, alone, only to say whether they fail always. The slowest files are listed at the end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const testRoot = join(root, "dist", "test");
const heavyFolders = ["fault", "fleet", "interop", "security"];
const nodeFolders = ["client", "crypto", "fileserver", "store", "transport", "wire", "workers"];
const nodeFiles = [
  /^(?:cli\/(?:call|check-store|completion|daemon|host|log|run|terminal)|master\/(?:ports|shutdown|upkeep)|minion\/(?:call|jobs|minion|modules\/(?:cmd|file)|session)|bench\/(?:master-process|zmtp)|config\/yaml|pillar\/external|python)/,
];
const slowestShown = 20;
/** Files that measure, or that need both cores: never beside another. The others mostly wait, for minions and for Salt's own timeouts. */
const aloneFiles = [
  /security\/(?:floods|publish-floods|stranger-floods)\./,
  /fault\/(?:chaos-day|disk-errors|clock-jumps)\./,
  /fleet\/(?:benches\/|golden\/timing\.|masters\/(?:thousand-minions|worker-loss|slow-subscriber|keepalive)\.)/,
  /interop\/real-(?:minions|masters)\./,
];
/** The longest first, so that lanes end together. */
const longFiles = [
  /interop\/golden\/(?:commands|salt-commands)\./,
  /fleet\/golden\/(?:commands|jobs|masters)\.|interop\/golden\/waits\./,
  /fleet\/masters\/(?:daemons|kill-nine)\.|interop\/(?:mines|pillars|runners)\.|fleet\/jobs\/missing-returns\./,
];
const lanes = 2;

function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? testFiles(path) : path.endsWith(".test.js") ? [path] : [];
  });
}

function groupOf(file) {
  return heavyFolders.includes(relative(testRoot, file).split("/")[0] ?? "") ? "heavy" : "light";
}

function isOfNode(file) {
  const path = relative(testRoot, file);
  return nodeFolders.includes(path.split("/")[0] ?? "") || nodeFiles.some((pattern) => pattern.test(path));
}

const timesFolder = mkdtempSync(join(tmpdir(), "saltworks-test-times-"));
process.once("exit", () => rmSync(timesFolder, { recursive: true, force: true }));
let timesCount = 0;

/** Flags of one runner: what it prints for people, and its times in a file of their own. */
function runnerFlags() {
  timesCount += 1;
  const times = join(timesFolder, `${timesCount}.json`);
  return [
    ...["--enable-source-maps", "--test"],
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...[`--test-reporter=${join(root, "scripts", "file-times.mjs")}`, `--test-reporter-destination=${times}`],
  ];
}

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
  const flags = [...runnerFlags(), `--test-concurrency=${concurrency}`, ...files.sort()];
  const [status] = await once(startRunner(flags, ["ignore", "inherit", "inherit"]), "exit");
  return status ?? 1;
}

/** As `run` for one file, beside others: what it prints comes at its end, in one piece. */
async function runBesideOthers(file) {
  const child = startRunner([...runnerFlags(), file], ["ignore", "pipe", "pipe"]);
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => printed.push(chunk));
  const [status] = await once(child, "close");
  process.stdout.write(Buffer.concat(printed));
  return status ?? 1;
}

/** More failed files than this need no second look. */
const secondLooksMax = 3;

async function lookAgain(failed) {
  const names = failed.map((file) => relative(testRoot, file));
  process.stdout.write(`\nFiles with failed tests: ${names.join(" ")}\n`);
  if (failed.length > secondLooksMax) return;
  for (const [index, file] of failed.entries()) {
    process.stdout.write(`\nOnce more, alone: ${names[index]}\n`);
    const isPassed = (await run([file], 1)) === 0;
    process.stdout.write(
      `\n${names[index]} ${isPassed ? "failed once and passed alone: a defect all the same" : "fails always"}\n`,
    );
  }
}

async function runHeavy(files) {
  const failed = [];
  const isAlone = (file) => aloneFiles.some((pattern) => pattern.test(file));
  const beside = files.filter((file) => !isAlone(file));
  const long = longFiles.flatMap((pattern) => beside.filter((file) => pattern.test(file)));
  const queue = [...long, ...beside.filter((file) => !long.includes(file))];
  const lane = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      if ((await runBesideOthers(file)) !== 0) failed.push(file);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  for (const file of files.filter(isAlone)) if ((await run([file], 1)) !== 0) failed.push(file);
  process.stdout.write(`\nFiles of whole fleets: ${files.length}, with failed tests: ${failed.length}\n`);
  if (failed.length > 0) await lookAgain(failed);
  return failed.length === 0 ? 0 : 1;
}

/** All times that runners wrote, the longest first. */
function fileTimes() {
  const times = readdirSync(timesFolder).flatMap((name) => {
    const text = readFileSync(join(timesFolder, name), "utf8");
    return text === "" ? [] : JSON.parse(text);
  });
  return times.sort((one, other) => other.ms - one.ms);
}

function showSlowest() {
  const times = fileTimes();
  const total = times.reduce((sum, { ms }) => sum + ms, 0);
  process.stdout.write(
    `\nThe slowest of ${times.length} files, which took ${(total / 1_000).toFixed(0)} s together:\n`,
  );
  for (const { file, ms, names } of times.slice(0, slowestShown)) {
    const seconds = (ms / 1_000).toFixed(1).padStart(6);
    process.stdout.write(`${seconds} s  ${relative(root, file)}: ${names.join("; ")}\n`);
  }
}

const { values, positionals: words } = parseArgs({ allowPositionals: true, options: { group: { type: "string" } } });
const group = values.group ?? (words.length > 0 ? "all" : "light");
const groups = group === "node" ? ["light"] : ["light", "heavy"].filter((name) => group === "all" || group === name);
const files = testFiles(testRoot).filter((file) => words.every((word) => relative(root, file).includes(word)));
const chosen = groups.map((name) =>
  files.filter((file) => groupOf(file) === name && (group !== "node" || isOfNode(file))),
);
if (groups.length === 0 || chosen.every((list) => list.length === 0)) {
  process.stderr.write(`no test file matches ${process.argv.slice(2).join(" ")}\n`);
  process.exit(1);
}
let status = 0;
for (const [index, list] of chosen.entries()) {
  if (list.length > 0) status = (await (groups[index] === "light" ? run(list, 2) : runHeavy(list))) || status;
}
showSlowest();
process.exit(status);
