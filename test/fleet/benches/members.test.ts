/** `saltworks bench --members`: three masters of one cluster under the load of one, as an operator runs it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readResult } from "../../../bench/results/files.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { runCli } from "../run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "saltworks-members-"));
after(() => rmSync(folder, { recursive: true }));

const timeoutMs = 120_000;
const skip = await natsServerSkip();

describe("saltworks bench --members", () => {
  it("spreads minions over three members, finds each return on all, and tells whose CPU time it was", {
    timeout: timeoutMs,
    skip,
  }, async () => {
    const load = ["--minions", "12", "--set", "returns=5", "--set", "warmUp=1", "--workers", "1"];
    const argv = ["bench", "return-storm", "--members", "3", ...load, "--output", folder];
    const { exitCode, stdout, stderr } = await runCli(argv, timeoutMs);
    // 2: on a busy machine the generator may be the limit.
    assert.ok(exitCode === 0 || exitCode === 2, stderr);
    assert.match(stdout, /^Saltworks .* \(3 members, nats-server \d+\.\d+\.\d+\)/m);
    const { master, points } = readResult(/^Result: (.*)$/m.exec(stdout)?.[1] ?? "");
    assert.equal(master.cluster?.members, 3);
    assert.deepEqual(
      points.map(({ label }) => label),
      ["closed loop", "closed loop, one member takes all"],
    );
    for (const { correctness, cpu, figures, label } of points) {
      assert.deepEqual([correctness.missing, correctness.accounted, correctness.duplicates], [0, 60, 0], label);
      assert.equal(figures.returnEvents, 60, label);
      const { takersMs = 0, othersMs = 0, serversMs = 0 } = cpu.cluster ?? {};
      assert.ok(Math.abs(takersMs + othersMs + serversMs - cpu.totalMs) < 1, label);
      assert.ok(takersMs > 0 && serversMs > 0, label);
    }
    const [spread, single] = points.map(({ cpu }) => cpu.cluster?.othersMs);
    assert.equal(spread, 0);
    assert.ok((single ?? 0) > 0);
  });
});
