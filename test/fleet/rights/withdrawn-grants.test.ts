/** What users with grants learn by `--deliver-within` and `-b`, and what happens to a waiting job when its user's grant is withdrawn. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { startOurMaster } from "../our-master.ts";
import { type CliResult, runCli } from "../run-cli.ts";

const timeoutMs = 120_000;
const pollMs = 250;
const password = "what-users-know-2";
const granted = [{ "sim-0": ["test.*"] }];
type Grants = Readonly<Record<string, unknown>>;
const externalAuth = (grants: Grants) => ({ auto: grants });

describe("a user with grants for one minion", { timeout: 2 * timeoutMs }, () => {
  let master: MasterProcess;
  const fleets: Fleet[] = [];
  async function openMinion(firstIndex: number): Promise<Fleet> {
    const common = { masterHost: "127.0.0.1", requestPort: master.requestPort, reconnectMs: [100, 500] as const };
    const fleet = await openFleet({ ...common, minionCount: 1, firstIndex, returnTimeoutMs: [1_000, 2_000] });
    fleets.push(fleet);
    await fleet.untilUp(timeoutMs);
    return fleet;
  }
  const salt = (user: string, ...words: string[]): Promise<CliResult> => {
    const login = ["-a", "auto", "--username", user, "--password", password];
    return runCli(["salt", "-c", master.configDirectory, ...login, ...words], timeoutMs);
  };
  async function run(...words: string[]): Promise<Record<string, unknown>> {
    const { exitCode, stdout, stderr } = await runCli(
      ["run", "-c", master.configDirectory, ...words, "--out", "json"],
      timeoutMs,
    );
    assert.equal(exitCode, 0, stderr);
    return JSON.parse(stdout || "{}") as Record<string, unknown>;
  }
  /** Resolves when this many jobs wait for minions. */
  async function untilPending(count: number): Promise<string[]> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const jids = Object.keys((await run("jobs.pending")) ?? {});
      if (jids.length === count) return jids;
      assert.ok(performance.now() < deadlineMs, `${jids.length} jobs wait`);
      await wait(pollMs);
    }
  }

  before(async () => {
    master = await startOurMaster(2, {
      auto_accept: true,
      gather_job_timeout: 2,
      timeout: 2,
      presence_timeout: 6,
      external_auth: externalAuth({ ann: granted, bob: granted }),
    });
    await openMinion(0);
    await openMinion(1);
  });
  after(async () => {
    for (const fleet of fleets) await fleet.close();
    await master?.remove();
  });

  it("learns no name of another by --deliver-within or -b", async () => {
    for (const options of [
      ["--deliver-within", "1h"],
      ["-b", "1"],
      ["-b", "1", "--async"],
    ]) {
      for (const target of [["*"], ["-L", "sim-0,sim-1"], ["-E", "sim-[01]"], ["not sim-0", "-C"]]) {
        const { stdout, stderr } = await salt("ann", ...options, ...target, "test.ping");
        const said = stdout + stderr;
        assert.ok(!said.replace("sim-0,sim-1", "").includes("sim-1"), said);
        assert.match(said, /Authorization error occurred|authorization/i, `${options} ${target}`);
      }
      const own = await salt("ann", ...options, "sim-0", "test.ping");
      assert.equal(own.exitCode, 0, own.stderr);
      assert.ok(!(own.stdout + own.stderr).includes("sim-1"));
    }
    assert.deepEqual(await run("jobs.pending"), {});
  });

  it("has no job delivered any more whose grant went while it waited, and others have theirs", async () => {
    const [own] = fleets.splice(0, 1);
    await own?.close();
    const jids: Record<string, string> = {};
    for (const user of ["ann", "bob"]) {
      const { stdout, stderr } = await salt(user, "--deliver-within", "1h", "--async", "sim-0", "test.echo", "x");
      jids[user] = /job ID: (\d{20})/.exec(stdout)?.[1] ?? assert.fail(stdout + stderr);
    }
    await untilPending(2);
    await master.kill();
    const file = join(master.configDirectory, "master");
    const config = JSON.parse(readFileSync(file, "utf8")) as Grants;
    writeFileSync(file, JSON.stringify({ ...config, external_auth: externalAuth({ bob: granted }) }));
    await master.restart();
    await openMinion(0);
    await untilPending(0);
    const returned = async (user: string) => Object.keys(await run("jobs.lookup_jid", jids[user] ?? ""));
    assert.deepEqual([await returned("ann"), await returned("bob")], [[], ["sim-0"]]);
    assert.match(master.logTail(), /a job that waited is not delivered: its user no longer has the permission/);
  });
});
