// Runs compiled tests with node's own runner. `npm test` runs the group "light": files that share the machine well and need nothing but Node.
// `npm run test:all` adds the group "heavy": whole masters, fleets and real Salt, one file a runner, two at a time and some more that wait.
// Arguments: `--group light|heavy|all|node`, and words that a file's path must hold (which look in all groups). "node" are the files that
// depend on the version of Node: sockets, threads, processes, files, crypto, SQLite and native packages. A failed test fails the run. Up to three failed
// files of a group are run once more, alone, only to say whether they fail always. The slowest files are listed at the end; with `--times FOLDER`
// the times are left there instead, for one list of several runs (scripts/slowest-files.mjs). `--file-timeout MS` bounds the time of each file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readTimes, showSlowest } from "./slowest-files.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const testRoot = join(root, "dist", "test");
const heavyFolders = ["cluster", "fault", "fleet", "interop", "security"];
const nodeFolders = ["client", "crypto", "fileserver", "store", "transport", "wire", "workers"];
const nodeFiles = [
  /^(?:cli\/(?:call|check-store|completion|daemon|host|log|run|terminal)|master\/(?:ports|shutdown|upkeep)|minion\/(?:call|jobs|minion|modules\/(?:cmd|file)|session)|bench\/(?:servers\/master-process|zmtp)|config\/yaml|pillar\/external|python)/,
  // SQLite comes with Node.js, but not with Node 20.
  /^(?:databases|interop\/databases|interop\/returners)\/sqlite3[.-]/,
];
/** Files that assert how soon something happens: each runs alone. */
const aloneFiles = [
  /security\/(?:floods|large-returns|publish-floods|stranger-floods)\./,
  /fleet\/(?:masters\/(?:slow-subscriber|keepalive)|rights\/auth-flood)\./,
];
/**
 * Files with many of Salt's minions, which all work at once: beside two other lanes a slow machine does not let them answer in time. They come first, one
 * at a time, beside the files that wait.
 */
const saltFleetFiles = [/interop\/(?:golden\/(?:salt-commands|commands)|site\/site|real-minions)\./];
/** Files that mostly wait and use less than half of one core: they have lanes beside the others. */
const waitingFiles = [
  /test\/cluster\/faults\.|fault\/(?:chaos-day|disk-errors|clock-jumps|clock-jumps-minions)\./,
  /fleet\/(?:benches\/(?:bench-and-tune|peers)|cluster\/[^/]+|golden\/(?:masters|timing)|jobs\/(?:missing-returns|deliver-within|schedules)|masters\/worker-loss|rights\/key-removals)\./,
  /interop\/(?:deliver-within|golden\/waits|syndic\/syndic)\./,
  /workers\/(?:threads\/lane-pool|lanes\/(?:runner-lane|external-lane))\./,
  /master\/(?:cluster\/.*|ports\/publish-front|jobs\/deliveries|upkeep\/salt-files|shutdown\/leave|batch-jobs\/sharing)\./,
  /cli\/(?:top|check-store|log\/syslog)\.|api\/hostile\/(?:half-open|tls)\.|scripts\/test-runs\./,
  /pillar\/(?:external|programs|gpg\/gpg)\.|minion\/(?:modules\/cmd|session\/session)\./,
];
/** Files that wait for servers' elections and use a tenth of a core at most: they have one lane more. */
const idleFiles = [/test\/cluster\/(?!faults\.)/];
/** The longest files come first, so that the lanes end together. */
const longFiles = [
  /fleet\/(?:cluster\/leases|golden\/masters|benches\/bench-and-tune)\.|workers\/threads\/lane-pool\./,
  /interop\/(?:golden\/waits|syndic\/syndic|api\/replay|sidecar\/plugins)\.|fleet\/golden\/jobs\./,
  /fleet\/(?:cluster\/(?:check|replacements|golden-jobs|own-nats)|golden\/timing|benches\/(?:tune-interrupted|peers))\./,
  /interop\/(?:real-masters|cluster\/real-minions)\.|fleet\/(?:benches\/(?:scenarios|cluster|agents)|databases\/storm)\./,
  /fleet\/(?:masters\/(?:daemons|kill-nine)|jobs\/missing-returns)\.|fault\/chaos-day\.|interop\/(?:mines|pillars|runners|takeover)\./,
];
/** Of the files that use a core. */
const lanes = 2;
/** Of the files that wait. */
const waitingLanes = 2;

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

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { group: { type: "string" }, times: { type: "string" }, "file-timeout": { type: "string" } },
});
/** A file that takes longer is ended and has failed: a process that a failed test left behind would hold the run up for ever. The longest takes 6 minutes. */
const fileTimeoutMs = Number(values["file-timeout"] ?? 900_000);
const timesFolder = values.times ?? mkdtempSync(join(tmpdir(), "saltworks-test-times-"));
mkdirSync(timesFolder, { recursive: true });
if (values.times === undefined) process.once("exit", () => rmSync(timesFolder, { recursive: true, force: true }));
let timesCount = 0;

/** Flags of one runner: its output for people, and its times in the file `times`. */
function runnerFlags(times) {
  return [
    ...["--enable-source-maps", "--test", `--test-timeout=${fileTimeoutMs}`],
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...[`--test-reporter=${join(root, "scripts", "file-times.mjs")}`, `--test-reporter-destination=${times}`],
  ];
}

function newTimes(group) {
  timesCount += 1;
  return join(timesFolder, `${group}-${timesCount}.json`);
}

/** Runners under way. Each leads a process group, so that a signal for this program ends their tests and all that the tests started. */
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

/** @returns the files in which tests failed, which may be files that test files import; all of `files` if the runner did not tell */
async function run(group, files, concurrency) {
  const times = newTimes(group);
  const flags = [...runnerFlags(times), `--test-concurrency=${concurrency}`, ...files.toSorted()];
  const [status] = await once(startRunner(flags, ["ignore", "inherit", "inherit"]), "exit");
  if (status === 0) return [];
  const failed = readTimes(times).flatMap(({ file, isFailed }) => (isFailed ? [compiled(file)] : []));
  return failed.length > 0 ? failed : files;
}

/** Node reports a file by its source, because the compiled file has a source map. */
function compiled(file) {
  const path = relative(root, file);
  return path.startsWith("test") ? join(root, "dist", path.replace(/\.ts$/, ".js")) : file;
}

/** As `run`, for one file beside others: its output is printed in one piece at its end. */
async function runBesideOthers(group, file) {
  const child = startRunner([...runnerFlags(newTimes(group)), file], ["ignore", "pipe", "pipe"]);
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => printed.push(chunk));
  const [status] = await once(child, "close");
  process.stdout.write(Buffer.concat(printed));
  return status ?? 1;
}

/** Failed files of a group that are run once more. More than these have one cause, as a rule. */
const secondLooksMax = 3;

async function lookAgain(failed) {
  const names = failed.map((file) => relative(testRoot, file));
  process.stdout.write(`\nFiles with failed tests: ${names.join(" ")}\n`);
  const runnable = failed.filter((file) => file.endsWith(".test.js"));
  for (const file of runnable.slice(0, secondLooksMax)) {
    const name = relative(testRoot, file);
    process.stdout.write(`\nOnce more, alone: ${name}\n`);
    const isPassed = (await run("again", [file], 1)).length === 0;
    process.stdout.write(
      `\n${name} ${isPassed ? "failed once and passed alone: a defect all the same" : "fails always"}\n`,
    );
  }
}

const isOneOf = (patterns) => (file) => patterns.some((pattern) => pattern.test(file));

/** The files in the order of `longFiles`, then the others. */
function longestFirst(files) {
  const rank = (file) => [...longFiles, /./].findIndex((pattern) => pattern.test(file));
  return files.toSorted((one, other) => rank(one) - rank(other));
}

/** Node's runner takes files by name. Files that wait run beside it, and one of a late name does not run alone at the end. */
async function runLight(group, files) {
  const isWaiting = isOneOf(waitingFiles);
  const busy = files.filter((file) => !isWaiting(file));
  const failed = [];
  const waiting = longestFirst(files.filter(isWaiting));
  const besides = Array.from({ length: waitingLanes }, async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift())
      if ((await runBesideOthers(group, file)) !== 0) failed.push(file);
  });
  const [failedBusy] = await Promise.all([busy.length === 0 ? [] : run(group, busy, lanes), ...besides]);
  return [...failedBusy, ...failed];
}

async function runHeavy(group, files) {
  const failed = [];
  const isAlone = isOneOf(aloneFiles);
  const isWaiting = isOneOf(waitingFiles);
  const beside = longestFirst(files.filter((file) => !isAlone(file)));
  const waiting = beside.filter(isWaiting);
  const isIdle = isOneOf(idleFiles);
  const idle = beside.filter(isIdle);
  const isSaltFleet = isOneOf(saltFleetFiles);
  const ofSalt = beside.filter(isSaltFleet);
  const busy = beside.filter((file) => !isWaiting(file) && !isIdle(file) && !isSaltFleet(file));
  /** The next file of the first queue that has one. */
  const nextOf = (...queues) => queues.find((queue) => queue.length > 0)?.shift();
  const lane = async (next) => {
    for (let file = next(); file !== undefined; file = next())
      if ((await runBesideOthers(group, file)) !== 0) failed.push(file);
  };
  let isSaltOver = false;
  const salt = lane(() => nextOf(ofSalt)).then(() => {
    isSaltOver = true;
  });
  /** Until then, Salt's fleets are the one lane that uses a core, and the others have files that wait. */
  const afterSalt = async () => {
    await lane(() => (isSaltOver ? undefined : nextOf(waiting)));
    await salt;
    await lane(() => nextOf(busy, waiting));
  };
  await Promise.all([
    salt.then(() => lane(() => nextOf(busy, waiting))),
    ...Array.from({ length: lanes - 1 }, afterSalt),
    ...Array.from({ length: waitingLanes }, () => lane(() => nextOf(waiting))),
    lane(() => nextOf(idle)),
  ]);
  for (const file of files.filter(isAlone)) failed.push(...(await run(group, [file], 1)));
  process.stdout.write(`\nFiles of whole fleets: ${files.length}, with failed tests: ${failed.length}\n`);
  return failed;
}

const group = values.group ?? (words.length > 0 ? "all" : "light");
const groups = ["light", "heavy", "node"].filter((name) => group === name || (group === "all" && name !== "node"));
const files = testFiles(testRoot).filter((file) => words.every((word) => relative(root, file).includes(word)));
const chosen = groups.map((name) =>
  files.filter((file) => (name === "node" ? isOfNode(file) : groupOf(file) === name)),
);
if (groups.length === 0 || chosen.every((list) => list.length === 0)) {
  process.stderr.write(`no test file matches ${process.argv.slice(2).join(" ")}\n`);
  process.exit(1);
}
let status = 0;
for (const [index, list] of chosen.entries()) {
  if (list.length === 0) continue;
  const name = groups[index];
  const failed = name === "heavy" ? await runHeavy(name, list) : await runLight(name, list);
  if (failed.length === 0) continue;
  status = 1;
  await lookAgain(failed);
}
if (values.times === undefined) showSlowest(timesFolder);
process.exit(status);
