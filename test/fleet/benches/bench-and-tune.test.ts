/** `saltworks bench` and `saltworks tune` as an operator runs them: real masters, simulated minions, results in files. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readResult } from "../../../bench/results/files.ts";
import type { RunResult } from "../../../bench/results/schema.ts";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { cliFile } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "saltworks-tuned-"));
after(() => rmSync(folder, { recursive: true }));

const timeoutMs = 300_000;
const load = ["--minions", "20", "--set", "returns=10", "--set", "warmUp=5"];

type Ended = { readonly code: number; readonly out: string; readonly err: string };

async function run(...argv: string[]): Promise<Ended> {
  const { exitCode, stdout, stderr } = await runCli(argv, timeoutMs);
  return { code: exitCode, out: stdout, err: stderr };
}

/** Sends Ctrl-C as soon as standard error contains `words`. */
function interrupted(words: string, ...argv: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [cliFile, ...argv], { stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs });
  let [out, err] = ["", ""];
  let isAsked = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    if (isAsked || !err.includes(words)) return;
    isAsked = true;
    child.kill("SIGINT");
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? -1, out, err }));
  });
}

function assertAllAccounted({ points }: RunResult): void {
  for (const { correctness, label } of points) {
    assert.deepEqual([correctness.missing, correctness.accounted], [0, correctness.expected], label);
  }
}

describe("saltworks bench", () => {
  it("runs a scenario on a master of its own, prints the result and keeps it for a report", {
    timeout: timeoutMs,
  }, async () => {
    const { code, out, err } = await run(
      "bench",
      "return-storm",
      ...load,
      "--workers",
      "1",
      "--repeats",
      "2",
      "--output",
      folder,
    );
    // 2: on a busy machine the generator may be the limit.
    assert.ok(code === 0 || code === 2, err);
    assert.match(out, /^closed loop \(run 2\) +return +200 /m);
    const path = /^Result: (.*)$/m.exec(out)?.[1] ?? "";
    const result = readResult(path);
    assert.equal(result.points.length, 2);
    assert.deepEqual([result.master.config.worker_threads, result.scenario.parameters.minions], [1, 20]);
    assertAllAccounted(result);
    const report = await run("bench", "report", path);
    assert.match(readFileSync(report.out.trim(), "utf8"), /id="latency"/);
    const same = await run("bench", "compare", path, path);
    assert.equal(same.code, 0);
  });
});

describe("saltworks tune", () => {
  const quick = [
    "tune",
    "--on-busy-machine",
    "--quick",
    ...load,
    "--seconds",
    "1",
    "--workers-max",
    "2",
    "--output",
    folder,
  ];

  it("shows at Ctrl-C what is known, and goes on from there to settings that a master loads", {
    timeout: 2 * timeoutMs,
  }, async () => {
    const first = await interrupted("worker_threads: ", ...quick);
    assert.equal(first.code, 130, first.err);
    const path = /--resume (\S+)/.exec(first.err)?.[1] ?? "";
    const early = readResult(path);
    assertAllAccounted(early);
    assert.ok(early.points.length >= 2);
    mkdirSync(join(folder, "master.d"));
    const file = join(folder, "master.d", "tuned.conf");
    const { code, out, err } = await run(...quick, "--resume", path, "--write", file);
    assert.ok(code === 0 || code === 2, err);
    const results = readdirSync(folder).filter((name) => /^tune-.*\.json$/.test(name));
    const whole = results
      .map((name) => readResult(join(folder, name)))
      .find(({ points }) => points.length > early.points.length);
    assert.ok(whole);
    assertAllAccounted(whole);
    // The earlier points are reused; no run measured them again.
    assert.deepEqual(whole.points.slice(0, early.points.length), early.points);
    assert.equal(readFileSync(file, "utf8"), out);
    const config = loadMasterConfig(folder);
    assert.deepEqual([...config.warnings], []);
    assert.match(out, new RegExp(`^worker_threads: ${config.worker_threads}$`, "m"));
  });
});
