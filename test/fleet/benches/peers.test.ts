/** A scenario against the C floor, and the programs that compare masters: each runs briefly, with small fleets. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runAgainst } from "../../../bench/peers/against.ts";
import { compileFloor } from "../../../bench/peers/floor.ts";
import type { SideSummary } from "../../../bench/peers/load-report.ts";
import type { Comparison } from "../../../bench/results/schema.ts";
import { noProgress } from "../../../bench/scenarios/scenario.ts";

const timeoutMs = 120_000;
const compiled = compileFloor();
const lacks = "missing" in compiled ? `the floor cannot be compiled: ${compiled.missing}` : false;

async function run(program: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const file = fileURLToPath(new URL(`../../../bench/peers/${program}.js`, import.meta.url));
  const env = { ...process.env, SALTWORKS_SALT_VENV: undefined };
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { timeout: timeoutMs, env });
  return JSON.parse(stdout) as Record<string, unknown>;
}

const costs = (masters: readonly SideSummary[]) => masters.map(({ cpuUsPerOperation }) => cpuUsPerOperation);

describe("runAgainst", { skip: lacks }, () => {
  it("gives both masters the same load in turns, accounts for every return, and holds ours against the floor", async () => {
    const [ours, floor] = await runAgainst({
      scenario: "return-storm",
      parameters: { minions: 20, returns: 10, warmUp: 1 },
      masters: [{ kind: "saltworks", workers: 1 }, { kind: "floor" }],
      repeats: 2,
      progress: noProgress,
      signal: AbortSignal.timeout(timeoutMs),
    });
    assert.deepEqual([ours?.master.kind, floor?.master.kind], ["saltworks", "floor"]);
    for (const result of [ours, floor]) {
      assert.deepEqual(
        result?.points.map(({ parameters, correctness }) => [parameters.repeat, correctness.accounted]),
        [
          [1, 200],
          [2, 200],
        ],
      );
    }
    const [comparison] = ours?.comparisons ?? [];
    assert.match(comparison?.baseline ?? "", /^floor libzmq/);
    assert.match(comparison?.candidate ?? "", /^saltworks .*, 1 worker$/);
    assert.ok((comparison?.ratio ?? 0) > 1);
    assert.equal(comparison?.verdict, "no verdict");
    assert.equal(floor?.comparisons, undefined);
  });

  it("asks for two masters", async () => {
    const around = { progress: noProgress, signal: AbortSignal.timeout(timeoutMs), repeats: 1 };
    const one = runAgainst({ ...around, scenario: "return-storm", masters: [{ kind: "floor" }] });
    await assert.rejects(one, { code: "USAGE" });
  });
});

describe("programs that hold masters against each other", { skip: lacks }, () => {
  it("cpu-per-return puts the floor below ours", async () => {
    const brief = ["--minions", "50", "--jobs", "20", "--rounds", "2", "--warm-up", "0"];
    const { masters } = (await run("cpu-per-return", brief)) as { masters: SideSummary[] };
    const [ours = 0, floor = 0] = costs(masters);
    assert.ok(floor > 0 && ours > floor, `${ours} and ${floor} µs`);
  });

  it("cpu-per-auth tells what RSA alone takes, with and without token", async () => {
    const brief = ["--minions", "20", "--connections", "4", "--auths", "2", "--rounds", "1"];
    // A machine that runs tests is not idle, so a longer wait changes nothing about the figures.
    const line = await run("cpu-per-auth", [...brief, "--idle-wait", "1"]);
    const { withToken, withoutToken } = line as Record<"withToken" | "withoutToken", { masters: SideSummary[] }>;
    const [, alone = 0] = costs(withoutToken.masters);
    const [ours = 0, aloneWithToken = 0] = costs(withToken.masters);
    assert.ok(ours > aloneWithToken && aloneWithToken > alone && alone > 0);
  });

  it("fleet-growth compares each load with the first of its kind, and with the floor's under the same", async () => {
    const fleets = ["--minions", "20", "--light", "10", "--rate", "100", "--linger", "0,1000"];
    const brief = ["--returns", "200", "--seconds", "1", "--rounds", "1", "--warm-up-returns", "40", "--floor"];
    const { comparisons } = (await run("fleet-growth", [...fleets, ...brief])) as { comparisons: Comparison[] };
    const light = "10 minions, 100 returns/s";
    assert.deepEqual(
      comparisons.map(({ candidate, baseline }) => [candidate, baseline]),
      [
        ["saltworks, 20 minions", "floor, 20 minions"],
        [`saltworks, ${light}`, "saltworks, 20 minions"],
        [`saltworks, ${light}`, `floor, ${light}`],
        [`saltworks, ${light}, batch_linger_us 1000`, "saltworks, 20 minions"],
        [`floor, ${light}`, "floor, 20 minions"],
      ],
    );
  });
});
