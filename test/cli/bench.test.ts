import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { benchCommand } from "../../bench/commands/bench.ts";
import { readRunRequest, understandBench } from "../../bench/commands/run-request.ts";
import { tuneCommand } from "../../bench/commands/tune.ts";
import { writeResult } from "../../bench/results/files.ts";
import { noProgress } from "../../bench/scenarios/scenario.ts";
import { answered } from "../../src/cli/dispatch.ts";
import { samplePoint, sampleResult } from "../bench/sample-result.ts";
import { cliFile } from "../fleet/our-master.ts";
import { runProgram } from "../fleet/run-cli.ts";
import { TestHost } from "./test-host.ts";

const timeoutMs = 60_000;
const folder = mkdtempSync(join(tmpdir(), "saltworks-bench-"));
after(() => rmSync(folder, { recursive: true }));

type Ended = { readonly code: number; readonly out: string; readonly err: string };

/** The bench program within this process, without a Salt of the environment. */
async function run(name: "bench" | "tune", ...argv: string[]): Promise<Ended> {
  const host = new TestHost();
  const command = name === "bench" ? benchCommand : tuneCommand;
  const code = await answered(name, host, () => command(argv, host, noProgress));
  return { code, out: host.out, err: host.err };
}

async function ended(file: string, args: readonly string[]): Promise<Ended> {
  const { exitCode, stdout, stderr } = await runProgram(file, args, timeoutMs);
  return { code: exitCode, out: stdout, err: stderr };
}

/** The real program, which starts the bench program. */
function runSaltworks(...argv: string[]): Promise<Ended> {
  return ended(process.execPath, [cliFile, ...argv]);
}

/** The same in a process that may open at most `descriptors` files. */
function runSaltworksWithin(descriptors: number, ...argv: string[]): Promise<Ended> {
  const limited = 'ulimit -n "$0" && exec "$@"';
  return ended("/bin/sh", ["-c", limited, String(descriptors), process.execPath, cliFile, ...argv]);
}

describe("saltworks bench", () => {
  it("is a command of the program, which hands on what the bench program says and ends with", async () => {
    const help = await runSaltworks("bench", "--help");
    assert.equal(help.code, 0);
    assert.match(help.out, /^Usage: saltworks bench <scenario> \[options\]\n/);
    const unknown = await runSaltworks("bench", "nosuch-scenario");
    assert.match(unknown.err, /^saltworks bench: error: there is no scenario 'nosuch-scenario'/);
    assert.deepEqual([unknown.code, unknown.out], [64, ""]);
    const tune = await runSaltworks("tune", "fast");
    assert.match(tune.err, /^saltworks tune: error: tune takes no words/);
    assert.equal(tune.code, 64);
  });

  it("lists the scenarios with the meaning of each parameter, without starting anything", async () => {
    const list = await run("bench", "--list");
    assert.equal(list.code, 0);
    assert.match(list.out, /^return-storm \(version \d+\)\n {2}\S.*\?\n/m);
    assert.match(list.out, /^ {4}minions=1000 {2}\S/m);
  });

  it("runs the floor beside every load of returns", () => {
    const host = new TestHost();
    for (const word of ["return-storm", "light-load"]) {
      const { options } = understandBench([word, "--against", "floor"], host);
      const { masters } = readRunRequest(word, options, host);
      assert.deepEqual(
        masters.map(({ kind }) => kind),
        ["saltworks", "floor"],
      );
    }
  });

  /** Each of these ends with 64, and prints the command's name and what was wrong. */
  const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
    ["no scenario", [], /which scenario\? There are: .*return-storm/],
    ["a misspelt scenario", ["retrun-storm"], /there is no scenario 'retrun-storm'; did you mean 'return-storm'/],
    ["a scenario far from any", ["zzz"], /there is no scenario 'zzz'; there are: .*return-storm/],
    ["a sweep of nothing", ["return-storm", "--sweep", "minions"], /--sweep minions: write KEY=VALUE,VALUE/],
    ["a sweep of one value", ["return-storm", "--sweep", "minions=5"], /takes two values or more/],
    ["a sweep with a value twice", ["return-storm", "--sweep", "minions=5,5"], /has a value twice/],
    ["a sweep with a wrong value", ["return-storm", "--sweep", "minions=5,many"], /minions takes a number, not many/],
    ["a sweep of what there is not", ["return-storm", "--sweep", "minoins=5,6"], /has no parameter minoins/],
    [
      "a sweep beside a value",
      ["return-storm", "--minions", "5", "--sweep", "minions=5,6"],
      /minions has one value already, 5/,
    ],
    ["a condition without a unit", ["return-storm", "--fail-if", "return.p99>5"], /return\.p99 takes us, µs, ms, s/],
    ["two scenarios", ["return-storm", "ping-all"], /one scenario at a time; 'ping-all' is too much/],
    [
      "an unknown parameter",
      ["return-storm", "--set", "minoins=5"],
      /return-storm has no parameter 'minoins'; it has: minions, /,
    ],
    ["a parameter without a value", ["return-storm", "--set", "minions"], /--set takes KEY=VALUE, not 'minions'/],
    ["a value of another kind", ["return-storm", "--set", "minions=many"], /minions takes a number, not many/],
    ["no minions", ["return-storm", "--minions", "0"], /--minions takes a number from 1 on, not 0/],
    [
      "half a minion",
      ["return-storm", "--set", "minions=1.5"],
      /minions takes a whole number from 1 to [\d,]+, not 1\.5/,
    ],
    [
      "less than nothing",
      ["return-storm", "--set", "returns=-1"],
      /returns takes a whole number from 1 to [\d,]+, not -1/,
    ],
    ["a rate of nothing", ["mine-read", "--rate", "0"], /mine-read: rate takes a number from 0\.1 to [\d,]+, not 0/],
    [
      "arrivals that there are not",
      ["return-storm", "--set", "arrivals=bursts"],
      /arrivals takes one of constant, poisson, not bursts/,
    ],
    ["a version that there is not", ["ping-all", "--set", "version=7"], /version takes one of 0, 2, 3, not 7/],
    [
      "sizes that are none",
      ["return-storm", "--set", "returnBytes=big"],
      /error: big is not a distribution: write 64, /,
    ],
    ["sizes that no master takes", ["return-storm", "--set", "returnBytes=1..1e12"], /1\.\.1e12 is not a distribution/],
    [
      "a tail of sizes that no master takes",
      ["return-storm", "--set", "returnBytes=64:99%,999999999:1%"],
      /returnBytes takes values up to 104,857,600, not 64:99%,999999999:1%/,
    ],
    [
      "a target that there is not",
      ["targeting-100k", "--set", "only=grain,nosuch"],
      /only takes a list of targets: everybody, .*, not grain,nosuch/,
    ],
    [
      "batches of nothing",
      ["job-cache", "--set", "batches=16,0"],
      /batches takes a list of whole numbers .*, not 16,0/,
    ],
    [
      "more operations than the generator holds",
      ["return-storm", "--rate", "1000000", "--seconds", "3600"],
      /3,600,000,000 operations in one run are too many: the generator holds 10,000,000/,
    ],
    [
      "a peer where no master is asked",
      ["job-cache", "--against", "salt", "--salt", "/x"],
      /job-cache asks no master, so there is nothing to run it against/,
    ],
    [
      "a directory that results cannot be written to",
      ["return-storm", "--output", "/proc/nowhere"],
      /cannot write to the directory \/proc\/nowhere: ENOENT/,
    ],
    ["no number", ["return-storm", "--minions", "few"], /--minions: invalid integer value: 'few'/],
    ["too many workers", ["return-storm", "--workers", "1000"], /--workers takes a number from 1 to 256, not 1000/],
    [
      "an unknown peer",
      ["return-storm", "--against", "puppet"],
      /invalid choice: 'puppet' \(choose from 'salt', 'floor', 'alone'\)/,
    ],
    [
      "a load that the floor does not know",
      ["ping-all", "--against", "floor"],
      /the floor answers returns and nothing else/,
    ],
    ["Salt without a place", ["return-storm", "--against", "salt"], /--against salt needs --salt VENV/],
    ["a place without Salt", ["return-storm", "--salt", "/x"], /--salt means something with --against salt only/],
    [
      "an option that the master lacks",
      ["return-storm", "--master-config", "worker_thread=2"],
      /no option 'worker_thread'; did you mean 'worker_threads'/,
    ],
    [
      "a value that the master refuses",
      ["return-storm", "--master-config", "worker_threads=-2"],
      /--master-config worker_threads: /,
    ],
    ["an unknown option", ["return-storm", "--nosuch"], /no such option: --nosuch/],
    [
      "agents for a load of complete minions",
      ["restart-under-load", "--agents", "127.0.0.1"],
      /restart-under-load cannot use --agents: its load is not a storm of minions/,
    ],
    ["agents without a secret", ["return-storm", "--agents", "127.0.0.1"], /--agents needs --agent-secret FILE/],
    ["a secret without agents", ["return-storm", "--agent-secret", "x"], /means something with --agents only/],
    [
      "a secret that is not there",
      ["return-storm", "--agents", "127.0.0.1", "--agent-secret", "/nowhere"],
      /the secret file \/nowhere cannot be read: ENOENT/,
    ],
    ["an agent without a secret", ["agent"], /agent needs --secret FILE; saltworks bench agent --new-secret FILE/],
    ["an agent with words", ["agent", "fast"], /agent takes no words; 'fast' is too much/],
    ["one result to compare", ["compare", "a.json"], /compare takes two result files/],
    ["no result to report", ["report"], /report takes one result file/],
  ];
  for (const [what, argv, message] of refused) {
    it(`refuses ${what} and says so`, async () => {
      const { code, out, err } = await run("bench", ...argv);
      assert.match(err, message);
      assert.match(err, /saltworks bench: error: /);
      assert.deepEqual([code, out], [64, ""]);
    });
  }

  it("refuses a fleet whose connections no master could hold, before it starts one", async () => {
    for (const scenario of ["return-storm", "restart-under-load"]) {
      const { code, out, err } = await runSaltworksWithin(1_024, "bench", scenario, "--minions", "900000");
      assert.match(err, /^saltworks bench: QUEUE_FULL: 900000 minions with 1800000 connections do not fit/);
      assert.equal(err.includes("with connections="), scenario === "return-storm");
      assert.deepEqual([code, out], [1, ""]);
    }
  });

  it("explains why a file is not a result", async () => {
    writeFileSync(join(folder, "text.json"), "not json");
    writeFileSync(join(folder, "other.json"), '{"schema":"other/1"}');
    assert.match((await run("bench", "report", join(folder, "text.json"))).err, /text\.json: it is not JSON/);
    assert.match(
      (await run("bench", "report", join(folder, "other.json"))).err,
      /other\.json: its schema is other\/1, not saltworks-bench\/1/,
    );
    const missing = await run("bench", "compare", "none.json", "none.json");
    assert.match(missing.err, /none\.json: ENOENT/);
    assert.equal(missing.code, 1);
    assert.ok(!existsSync(join(folder, "text.html")));
  });

  it("writes the report beside the result, or where it is told", async () => {
    const path = writeResult(folder, sampleResult());
    const { out, code } = await run("bench", "report", path);
    assert.deepEqual([out, code], [`${path.replace(/json$/, "html")}\n`, 0]);
    assert.match(readFileSync(out.trim(), "utf8"), /^<!doctype html>/);
    await run("bench", "report", path, "-o", join(folder, "elsewhere.html"));
    assert.ok(existsSync(join(folder, "elsewhere.html")));
    const same = await run("bench", "report", path, "-o", path);
    assert.match(same.err, /would overwrite the result/);
    assert.equal(same.code, 64);
  });

  it("compares two results, and refuses those of different loads unless forced", async () => {
    const cheap = { totalMs: 1, usPerOperation: 32.5, byThreadMs: {} };
    const [first, second] = [join(folder, "first"), join(folder, "second")];
    const before = writeResult(first, sampleResult());
    const after = writeResult(second, sampleResult({ points: [samplePoint({ cpu: cheap })] }));
    const { out, code } = await run("bench", "compare", before, after);
    assert.match(out, /^storm: CPU µs per operation +65 +32\.5 +−50 % +– +1\/1 +no verdict$/m);
    assert.equal(code, 0);
    const base = sampleResult();
    const scenario = { ...base.scenario, parameters: { minions: 7 } };
    const other = writeResult(join(folder, "third"), sampleResult({ scenario }));
    const refusal = await run("bench", "compare", before, other);
    assert.match(refusal.err, /do not compare .*:\n {2}the parameter minions differs: 1000 and 7\n/);
    assert.deepEqual([refusal.code, refusal.out], [64, ""]);
    const forced = await run("bench", "compare", "--force", "--json", before, other);
    assert.equal(forced.code, 0);
    assert.match(forced.err, /^Note: the parameter minions differs/);
    assert.ok((JSON.parse(forced.out) as unknown[]).length > 5);
  });
});

describe("saltworks tune", () => {
  const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
    ["words", ["fast"], /tune takes no words; 'fast' is too much/],
    ["an impossible objective", ["--p99-ms", "0"], /--p99-ms takes a number from 1 to \d+, not 0/],
    [
      "more workers than a master may have",
      ["--workers-max", "500"],
      /--workers-max takes a number from 1 to 256, not 500/,
    ],
    [
      "a file that cannot be written, before it measures",
      ["--output", folder, "--write", "/nowhere/tuned.conf"],
      /cannot write \/nowhere\/tuned\.conf: there is no directory \/nowhere/,
    ],
    ["a directory as the file", ["--output", folder, "--write", folder], /cannot write .*: EISDIR/],
    ["a rate, which it looks for itself", ["--set", "rate=5"], /tune chooses the rate itself/],
    ["an unknown parameter", ["--set", "x=5"], /return-storm has no parameter 'x'; it has: minions, /],
    ["an unknown option", ["--fast"], /no such option: --fast/],
  ];
  for (const [what, argv, message] of refused) {
    it(`refuses ${what} and says so`, async () => {
      const { code, out, err } = await run("tune", ...argv);
      assert.match(err, message);
      assert.deepEqual([code, out], [64, ""]);
    });
  }

  it("does not go on with the result of something else", async () => {
    const path = writeResult(join(folder, "resume"), sampleResult());
    const { code, err } = await run("tune", "--resume", path);
    assert.match(err, /cannot go on with .*: it is of return-storm version 1; its machine's cpu is A processor/);
    assert.equal(code, 64);
    assert.equal(readdirSync(folder).includes("bench-results"), false);
  });
});
