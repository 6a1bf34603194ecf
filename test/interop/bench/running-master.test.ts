/** `saltworks bench` against a master of real Salt that runs already: by its configuration, and by its ports alone. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { MasterProcess } from "../../../bench/master-process.ts";
import type { RunResult } from "../../../bench/results/schema.ts";
import { runCli } from "../../fleet/run-cli.ts";
import { openReleases } from "../salt-releases.ts";

const timeoutMs = 120_000;
const load = ["return-storm", "--minions", "20", "--set", "returns=3", "--set", "warmUp=1"];
const { all, skip } = await openReleases();
const release = all.find(({ name }) => name === "3007");

describe("bench against a running master of Salt 3007", { skip }, () => {
  let master: MasterProcess;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "saltworks-running-"));
    master = await MasterProcess.start({
      command: [release?.program("salt-master") ?? ""],
      config: { auto_accept: true, log_level: "warning", worker_threads: 2 },
      descriptors: { least: 0, wanted: 1_024 },
    });
  });
  after(async () => {
    await master?.remove();
    rmSync(folder, { recursive: true });
  });

  async function bench(...place: string[]): Promise<RunResult> {
    const { stdout, stderr } = await runCli(["bench", ...load, ...place, "--output", folder, "--json"], timeoutMs);
    assert.notEqual(stdout, "", stderr);
    return JSON.parse(stdout) as RunResult;
  }

  it("reads CPU and job cache by its configuration", async () => {
    const { master: loaded, points } = await bench("-c", master.configDirectory);
    assert.equal(loaded.kind, "salt");
    const [point] = points;
    assert.deepEqual([point?.correctness.accounted, point?.correctness.missing], [60, 0]);
    assert.equal(point?.correctness.countedBy, undefined);
    assert.ok((point?.cpu.totalMs ?? 0) > 0);
    assert.doesNotMatch(readFileSync(join(master.directory, "output"), "utf8"), /Traceback/);
  });

  it("sends returns that it stores, by its ports alone", async () => {
    const { publishPort, requestPort } = master;
    const { points } = await bench("--master", "127.0.0.1", "--ports", `${publishPort},${requestPort}`);
    const [point] = points;
    assert.deepEqual(point?.correctness.errors, {});
    assert.deepEqual([point?.correctness.accounted, point?.correctness.countedBy], [60, "replies"]);
  });
});
