/** The job cache seen by operators: searched through real programs while the master is up and down, bounded by number, and skipped on request. */

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { loadPrimes, minionKey } from "../../../bench/fleet/keys.ts";
import { MasterClient } from "../../../src/client/master-client.ts";
import type { MasterConfig } from "../../../src/config/load.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { startOurMaster } from "../our-master.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { runCli } from "../run-cli.ts";

const ids = ["web1", "web2"];
const jobsKept = 40;
const commandTimeoutMs = 60_000;
const pollMs = 200;
type Job = Readonly<Record<string, unknown>>;
type Listed = Readonly<Record<string, Job>>;

describe("the job cache of a running master", { timeout: 240_000 }, () => {
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let minions: readonly ProbeMinion[];
  let client: MasterClient;

  before(async () => {
    master = await startOurMaster(2, {
      open_mode: true,
      id: "boss_master",
      master_job_cache: "local_cache",
      job_cache_store_endtime: true,
      loop_interval: 1,
      keep_jobs_count: jobsKept,
    });
    const primes = await loadPrimes(join(tmpdir(), "sw-test-keys"), ids.length + 1);
    minions = await Promise.all(
      ids.map((id, index) => ProbeMinion.open(id, minionKey(primes, index), master.requestPort)),
    );
    const { cacheDirectory: cachedir, socketDirectory: sock_dir, requestPort: ret_port } = master;
    client = await MasterClient.open(
      { cachedir, sock_dir, ret_port, interface: "127.0.0.1", user: "root", timeout: 30 } as unknown as MasterConfig,
      "root",
    );
  });
  after(async () => {
    client.close();
    for (const minion of minions) minion.close();
    await master.remove();
  });

  async function runner(...words: string[]): Promise<{ readonly value: unknown; readonly stderr: string }> {
    const result = await runCli(["run", "-c", master.configDirectory, "--out=json", ...words], commandTimeoutMs);
    assert.equal(result.exitCode, 0, result.stderr);
    return { value: result.stdout === "" ? undefined : JSON.parse(result.stdout), stderr: result.stderr };
  }

  /** A job and the returns of its minions. */
  async function job(fun: string, kwargs: { readonly [name: string]: Encodable } = {}): Promise<string> {
    const published = await client.publish({ target: "web*", targetKind: "glob", fun, args: [], kwargs });
    assert.deepEqual(published?.minions.toSorted(), ids);
    const jid = published?.jid ?? "";
    for (const minion of minions) {
      const load = { cmd: "_return", id: minion.id, jid, fun, fun_args: [], return: true, retcode: 0, success: true };
      await minion.ask(minion.seal(load));
    }
    return jid;
  }

  it("has jobs with their end, and every call of a runner as a job of the master", async () => {
    const jid = await job("test.ping", { metadata: { ticket: "OPS-1" } });
    const { value } = await runner("jobs.list_jobs", "search_metadata={ticket: OPS-1}");
    const found = (value as Listed)[jid] ?? {};
    assert.equal(found.Function, "test.ping");
    assert.match(String(found.EndTime), /^\d{4}, [A-Z][a-z]{2} \d{2} /);
    const listed = (await runner("jobs.list_jobs_filter", "1")).value as Job[];
    assert.deepEqual(
      listed.map(({ Function: fun, Target, "Target-type": kind, Arguments }) => ({ fun, Target, kind, Arguments })),
      [{ fun: "runner.jobs.list_jobs", Target: "boss_master", kind: "list", Arguments: [] }],
    );
    const [last] = Object.values(
      (await runner("jobs.last_run", "function=runner.jobs.list_jobs_filter")).value as Listed,
    );
    const { boss_master: result } = (last?.Result ?? {}) as Record<string, { return: Job }>;
    assert.deepEqual(result?.return.fun_args, [1]);
    const [shown] = (result?.return.return ?? []) as Job[];
    assert.equal(shown?.Function, "runner.jobs.list_jobs");
    assert.deepEqual((await runner("jobs.exit_success", jid)).value, { web1: true, web2: true });
  });

  it("keeps no returns of a job with nocache, also after a restart, but its load", async () => {
    const jid = await job("test.echo", { nocache: true });
    assert.deepEqual((await runner("jobs.lookup_jid", jid)).value, {});
    assert.deepEqual(((await runner("jobs.list_job", jid)).value as Job).Minions, ids);
    await master.kill();
    await master.restart();
    for (const minion of minions) {
      await minion.ask(minion.seal({ cmd: "_return", id: minion.id, jid, fun: "test.echo", return: 1, retcode: 0 }));
    }
    assert.deepEqual((await runner("jobs.lookup_jid", jid)).value, {});
    const files = openLocalCache({ cachedir: master.cacheDirectory, hashType: "sha256" });
    assert.deepEqual(await returnsIn(files, jid), []);
    assert.ok(await files.request(jid));
  });

  it("lets the oldest go when there are more than keep_jobs_count", async () => {
    for (let count = 0; count <= jobsKept; count += 1) await job("test.version");
    const listed = async () =>
      Object.values((await runner("jobs.list_jobs")).value as Listed).map((one) => one.Function);
    for (const deadline = Date.now() + 60_000; ; await wait(pollMs)) {
      const functions = await listed();
      // Each query is itself a job.
      if (functions.length <= jobsKept + 5 && !functions.includes("test.ping")) break;
      assert.ok(Date.now() < deadline, `${functions.length} jobs`);
    }
    assert.ok((await listed()).includes("test.version"));
  });

  it("is searched while the master is down, by the same words", async () => {
    const jid = await job("state.apply");
    const search = ["jobs.list_jobs", "search_function=state.*", "search_target=web*", "start_time=2000-01-01"];
    const online = (await runner(...search)).value as Listed;
    assert.deepEqual(Object.keys(online), [jid]);
    await master.stop();
    assert.deepEqual((await runner(...search)).value, online);
    assert.deepEqual((await runner("jobs.lookup_jid", jid)).value, { web1: true, web2: true });
    assert.deepEqual(Object.keys((await runner("jobs.last_run", "function=state.*")).value as object), [jid]);
    const wrong = await runCli(
      ["run", "-c", master.configDirectory, "jobs.list_jobs", "end_time=someday"],
      commandTimeoutMs,
    );
    assert.equal(wrong.exitCode, 1);
    assert.match(wrong.stdout, /Exception occurred in runner jobs.list_jobs: "someday" is not a date/);
    await master.restart();
  });
});
