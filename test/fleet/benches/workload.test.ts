/** A workload file against masters that the bench starts and against one that runs already, through the real programs. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { freePorts } from "../../../bench/free-ports.ts";
import { MasterProcess } from "../../../bench/master-process.ts";
import type { RunResult } from "../../../bench/results/schema.ts";
import { readWorkload } from "../../../bench/workload/read.ts";
import { cliFile } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const timeoutMs = 180_000;
const folder = mkdtempSync(join(tmpdir(), "saltworks-workload-"));
after(() => rmSync(folder, { recursive: true }));

const text = `name: a small site
minions: 20
versions: {3: 90%, 2: 10%}
warm_up: 1
stages:
  - {name: settle, seconds: 1, rate: 50%, measured: false}
  - {name: day, seconds: 2, rate: 100%..200%}
operations:
  - {kind: job, name: highstates, rate: 1, target: {share: 50%}, bytes: "100..2000", delayMs: 100..500}
  - {kind: job, name: ping, rate: 1, target: {glob: "sim-1?"}, function: test.ping}
  - {kind: return, name: scheduled, rate: 20, bytes: 64}
  - {kind: event, rate: 5, bytes: 200}
  - {kind: mine, rate: 5}
  - {kind: mine_get, rate: 5, target: "sim-1?"}
  - {kind: pillar, rate: 5}
  - {kind: auth, rate: 2}
`;
const ownMasterOnly = `  - {kind: file, rate: 10, bytes: 5000}
  - {kind: api, name: users, users: 2, thinkMs: 50..100, call: {client: wheel, fun: key.list_all}}
  - {kind: api, name: calls, rate: 3, call: {client: runner, fun: jobs.list_jobs}}
`;

async function bench(...words: string[]): Promise<{ code: number; err: string; result: RunResult }> {
  const argv = ["bench", ...words, "--output", join(folder, "results"), "--json"];
  const { exitCode, stdout, stderr } = await runCli(argv, timeoutMs);
  assert.notEqual(stdout, "", stderr);
  return { code: exitCode, err: stderr, result: JSON.parse(stdout) as RunResult };
}

/** 2: on a busy machine the generator may be the limit. */
function assertWhole({ code, err, result }: Awaited<ReturnType<typeof bench>>, names: readonly string[]): void {
  assert.ok(code === 0 || code === 2, err);
  assert.deepEqual(
    result.points.map(({ label }) => label),
    ["day"],
  );
  const [day] = result.points;
  assert.deepEqual(day?.correctness.errors, {});
  assert.deepEqual(Object.keys(day?.operations ?? {}), names);
  for (const [name, operation] of Object.entries(day?.operations ?? {})) {
    assert.deepEqual([operation.failed, operation.timedOut], [0, 0], name);
    assert.ok(operation.completed > 0, name);
    assert.equal(operation.completed, operation.planned, name);
  }
}

const lanes = ["highstates", "ping", "scheduled", "event", "mine", "mine_get", "pillar", "auth"];
const publishes = ["highstates: publish", "ping: publish"];

describe("a workload file", () => {
  it("loads a master of the bench's own with every kind of operation, and accounts for each", async () => {
    const file = join(folder, "all.yaml");
    writeFileSync(file, text + ownMasterOnly);
    const ended = await bench(file, "--workers", "1");
    assertWhole(ended, [...lanes, "file", ...publishes, "users", "calls"]);
    const { correctness, operations } = ended.result.points[0] ?? assert.fail();
    assert.deepEqual([correctness.missing, correctness.accounted], [0, correctness.expected]);
    // A ramp from 100 % to 200 % over two seconds.
    assert.equal(operations.scheduled?.completed, 60);
    assert.equal(operations.highstates?.completed, 3 * 10);
    assert.equal(ended.result.scenario.source, text + ownMasterOnly);
  });

  describe("against a master that runs already", () => {
    let master: MasterProcess;
    let metricsPort: number;
    const file = join(folder, "running.yaml");
    const keys = join(folder, "keys");

    before(async () => {
      writeFileSync(file, text);
      [metricsPort = 0] = await freePorts(1);
      const config = { metrics_port: metricsPort, log_level: "warning", minimum_auth_version: 2 };
      const command = [process.execPath, cliFile, "master"];
      master = await MasterProcess.start({ command, config, descriptors: { least: 0, wanted: 1_024 } });
      // The operator accepts prepared keys before the run.
      const { exitCode, stderr } = await runCli(["bench", "keys", keys, "--minions", "20"], timeoutMs);
      assert.equal(exitCode, 0, stderr);
      cpSync(join(keys, "minions"), join(master.pkiDirectory, "minions"), { recursive: true });
    });
    after(() => master.remove());

    it("publishes and reads the job cache with its configuration, and leaves it running", async () => {
      const ended = await bench(file, "-c", master.configDirectory, "--keys", keys);
      assertWhole(ended, [...lanes, ...publishes]);
      const { correctness, cpu, isUsageUnknown } = ended.result.points[0] ?? assert.fail();
      assert.deepEqual([correctness.missing, correctness.countedBy, isUsageUnknown], [0, undefined, undefined]);
      assert.ok(cpu.totalMs > 0);
      assert.equal(ended.result.master.kind, "saltworks");
      assert.equal(ended.result.master.address, `127.0.0.1:${master.requestPort}`);
      assert.match(ended.err, /stay on the master until you delete the keys: salt-key -y -d 'sim-\[0-9\]\*'/);
    });

    it("is recorded from its metrics and job cache, as a file that can be read and run", async () => {
      const recorded = join(folder, "recorded.yaml");
      const words = ["bench", "record", recorded, "-c", master.configDirectory, "--hours", "1", "--seconds", "1"];
      const { exitCode, stdout, stderr } = await runCli(words, timeoutMs);
      assert.equal(exitCode, 0, stderr);
      assert.match(stdout, /20 minions, \d+ jobs and 0 of minions themselves/);
      const { minions, operations } = readWorkload(recorded);
      assert.equal(minions, 20);
      const apply = operations.find(({ name }) => name === "state.apply");
      assert.ok(apply?.kind === "job");
      assert.deepEqual(apply.target, { kind: "count", count: 10 });
      assert.equal((await runCli(words, timeoutMs)).exitCode, 64, "an existing file is kept");
    });

    it("from its ports alone: CPU and job cache are said to be unknown, and jobs are refused by name", async () => {
      const ports = ["--master", "127.0.0.1", "--ports", `${master.publishPort},${master.requestPort}`, "--keys", keys];
      const load = ["--minions", "20", "--set", "returns=2", "--set", "warmUp=1"];
      const { result } = await bench("return-storm", ...load, ...ports);
      assert.equal(result.master.kind, "unknown");
      assert.deepEqual(
        result.points.map(({ isUsageUnknown, correctness }) => [isUsageUnknown, correctness.countedBy]),
        [[true, "replies"]],
      );
      const refused = await runCli(["bench", file, ...ports, "--output", folder], timeoutMs);
      assert.match(refused.stderr, /operation 'highstates': to publish jobs, the bench needs .* \(-c DIR\)/);
      const measured = await bench("return-storm", ...load, ...ports, "--metrics", `127.0.0.1:${metricsPort}`);
      assert.equal(measured.result.master.kind, "saltworks");
      assert.ok((measured.result.points[0]?.cpu.totalMs ?? 0) > 0);
    });

    it("scenarios that change the master, and options of masters to start, are refused by name", async () => {
      const running = ["-c", master.configDirectory];
      for (const [words, message] of [
        [["restart-under-load"], /restart-under-load stops and starts the master, so it does not run against/],
        [["return-storm", "--workers", "2"], /--workers is about masters that the bench starts/],
        [["return-storm", "--against", "floor"], /--against is about masters that the bench starts/],
      ] as const) {
        const { exitCode, stderr } = await runCli(["bench", ...words, ...running], timeoutMs);
        assert.equal(exitCode, 64);
        assert.match(stderr, message);
      }
    });

    it("keys that wait are accepted during the run", async () => {
      const waiting = ["--minions", "3", "--set", "returns=2", "--set", "warmUp=0"];
      rmSync(join(master.pkiDirectory, "minions", "sim-0"));
      const running = bench("return-storm", ...waiting, "-c", master.configDirectory, "--keys", keys);
      const accept = ["key", "-c", master.configDirectory, "-y", "-a", "sim-0"];
      let accepted = await runCli(accept, timeoutMs);
      while (!/minion sim-0 accepted/.test(accepted.stdout)) accepted = await runCli(accept, timeoutMs);
      const { result } = await running;
      assert.equal(result.points[0]?.correctness.missing, 0);
    });
  });
});
