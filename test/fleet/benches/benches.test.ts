/** Smoke tests of the bench programs: each runs briefly and prints its one line. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SideSummary } from "../../../bench/peers/load-report.ts";
import { startOurMaster } from "../our-master.ts";

const timeoutMs = 120_000;

async function runBench(program: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const file = fileURLToPath(new URL(`../../../bench/${program}`, import.meta.url));
  const env = { ...process.env, SALTWORKS_SALT_VENV: undefined };
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { timeout: timeoutMs, env });
  const lines = stdout.trim().split("\n");
  assert.equal(lines.length, 1);
  return JSON.parse(lines[0] ?? "") as Record<string, unknown>;
}

describe("benches", () => {
  it("fleet brings minions up, counts, and leaves", async () => {
    const master = await startOurMaster(20, { auto_accept: true });
    try {
      const args = ["--ret-port", String(master.requestPort), "--minions", "20", "--seconds", "0"];
      const line = await runBench("fleet/main.js", args);
      assert.deepEqual([line.up, line.pillars, line.authsAccepted], [20, 20, 20]);
    } finally {
      await master.remove();
    }
  });

  it("cpu-per-return says what a return costs, and on which machine", async () => {
    for (const load of ["storm", "ping"]) {
      const brief = ["--minions", "50", "--jobs", "4", "--rounds", "2", "--warm-up", "0", "--no-floor"];
      const line = await runBench("peers/cpu-per-return.js", ["--load", load, ...brief]);
      const { masters, comparisons } = line as { masters: SideSummary[]; comparisons: unknown[] };
      const [saltworks, ...others] = masters;
      assert.equal(saltworks?.operations, 400);
      assert.ok(saltworks.cpuUsPerOperation > 0);
      assert.deepEqual([others, comparisons], [[], []]);
      assert.equal(line.node, process.version);
    }
  });
});
