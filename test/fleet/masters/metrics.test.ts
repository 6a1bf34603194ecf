/** The metrics of a real master: they change by exactly what a small fleet did, on every thread, and hold no data of minions. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { freePort } from "../../../bench/free-ports.ts";
import type { LocalClient } from "../../../bench/local-client.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { limitCounters } from "../../../src/master/metrics/limit-counters.ts";
import { databases, eventReturns } from "../../../src/master/metrics/store-copies.ts";
import { metrics } from "../../../src/master/metrics/table.ts";
import { type Family, readExposition, sumOfSamples } from "../../master/metrics/exposition.ts";
import { startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const minionCount = 12;
const jobCount = 5;
const upTimeoutMs = 60_000;
const storedTimeoutMs = 30_000;
const topTimeoutMs = 30_000;

/** CI installs it; elsewhere the test skips without it. */
const hasPromtool = spawnSync("promtool", ["--version"]).error === undefined;
const promtoolSkip = hasPromtool || process.env.CI === "true" ? false : "promtool is not installed";

type Families = ReadonlyMap<string, Family>;

const isOfCluster = (metric: string) => metric.startsWith("saltworks_cluster_");

describe("the metrics of a master with a fleet", () => {
  let master: MasterProcess;
  let fleet: Fleet;
  let client: LocalClient;
  let port: number;

  const scrape = async (): Promise<{ readonly text: string; readonly families: Families }> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return { text, families: readExposition(text) };
  };
  const until = async (isReached: (families: Families) => boolean): Promise<Families> => {
    const giveUpMs = performance.now() + storedTimeoutMs;
    for (;;) {
      const { families } = await scrape();
      if (isReached(families)) return families;
      assert.ok(performance.now() < giveUpMs, "the metrics did not come to what the fleet did");
    }
  };
  const returnsOf = (families: Families) => sumOfSamples(families, "saltworks_returns_total", { outcome: "stored" });

  before(async () => {
    port = await freePort();
    master = await startOurMaster(minionCount, { auto_accept: true, metrics_port: port });
    client = master.client();
    fleet = await openFleet({ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount });
    await fleet.untilUp(upTimeoutMs);
  });
  after(async () => {
    client?.close();
    await fleet?.close();
    await master?.remove();
  });

  it("have a text in which Prometheus' own checker finds no fault", { skip: promtoolSkip }, async () => {
    const { text } = await scrape();
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
    assert.equal(`${status} ${stdout}${stderr}`, "0 ");
  });

  it("grow by what was done, no more and no less", async () => {
    const { families: start } = await scrape();
    for (let job = 0; job < jobCount; job += 1) await client.publish("*", "test.ping");
    const expected = minionCount * jobCount;
    const end = await until((families) => returnsOf(families) - returnsOf(start) >= expected);
    const grown = (name: string, labels: Readonly<Record<string, string>> = {}, sample = name) =>
      sumOfSamples(end, name, labels, sample) - sumOfSamples(start, name, labels, sample);
    assert.equal(returnsOf(end) - returnsOf(start), expected);
    assert.equal(grown("saltworks_requests_total", { command: "_return", outcome: "answered" }), expected);
    assert.equal(grown("saltworks_requests_total", { command: "publish", outcome: "deferred" }), jobCount);
    assert.equal(grown("saltworks_requests_total"), expected + jobCount);
    assert.equal(grown("saltworks_frames_received_total"), expected + jobCount);
    assert.equal(grown("saltworks_batch_items", {}, "saltworks_batch_items_sum"), expected + jobCount);
    assert.equal(grown("saltworks_jobs_total", { outcome: "published" }), jobCount);
    assert.equal(grown("saltworks_refusals_total") + grown("saltworks_requests_rejected_total"), 0);
    const batches = grown("saltworks_batch_items", {}, "saltworks_batch_items_count");
    for (const stage of ["open", "handle", "commit", "seal"]) {
      assert.equal(grown("saltworks_stage_seconds", { stage }, "saltworks_stage_seconds_count"), batches, stage);
      assert.ok(grown("saltworks_stage_seconds", { stage }, "saltworks_stage_seconds_sum") > 0, stage);
    }
    const waits = grown("saltworks_queue_wait_seconds", { queue: "requests" }, "saltworks_queue_wait_seconds_count");
    assert.equal(waits, batches);
  });

  it("know the fleet: who signed in, who is connected", async () => {
    const { families } = await scrape();
    assert.equal(sumOfSamples(families, "saltworks_auths_total", { result: "accept" }), minionCount);
    assert.equal(sumOfSamples(families, "saltworks_auths_total"), minionCount);
    assert.equal(sumOfSamples(families, "saltworks_minions", { state: "connected" }), minionCount);
    assert.equal(sumOfSamples(families, "saltworks_minions", { state: "accepted" }), minionCount);
    assert.equal(sumOfSamples(families, "saltworks_limit_used", { limit: "max_minions" }), minionCount);
  });

  it("are those of the documented table, all of them, from every worker", async () => {
    const { families } = await scrape();
    // This master has no database of jobs, no event_return, no cluster and no source of ext_pillar.
    const without = { ...databases, ...eventReturns };
    const isSource = /^saltworks_pillar_source/;
    const shown = Object.keys(metrics).filter(
      (name) => !Object.hasOwn(without, name) && !isSource.test(name) && !isOfCluster(name),
    );
    assert.deepEqual([...families.keys()].sort(), shown.sort());
    const workers = families.get("saltworks_worker_stale")?.samples.map(({ labels, value }) => [labels.worker, value]);
    assert.deepEqual(workers, [
      ["0", 0],
      ["1", 0],
    ]);
    // Tasks with which the RSA lane signed the fleet in.
    assert.ok(sumOfSamples(families, "saltworks_heap_used_bytes", { thread: "sw-rsa-0" }) > 1e6);
    assert.ok(sumOfSamples(families, "saltworks_event_loop_busy_seconds_total", { thread: "sw-rsa-0" }) > 0);
    for (const worker of ["0", "1"]) {
      assert.ok(sumOfSamples(families, "saltworks_batch_items", { worker }, "saltworks_batch_items_count") > 0);
      assert.ok(sumOfSamples(families, "saltworks_heap_used_bytes", { thread: `sw-worker-${worker}` }) > 1e6);
    }
  });

  it("say how near every limit of the design is", async () => {
    const { families } = await scrape();
    const used = (limit: string) => sumOfSamples(families, "saltworks_limit_used", { limit });
    const max = (limit: string) => sumOfSamples(families, "saltworks_limit_max", { limit });
    for (const limit of ["queue_max_bytes", "auth_queue_max", "event_subscriber_max_bytes", "laneQueueMax"]) {
      assert.ok(max(limit) > 0 && used(limit) <= max(limit), limit);
    }
    assert.equal(max("max_minions"), Number.POSITIVE_INFINITY);
    // The largest request had the largest return, sealed.
    assert.ok(used("job_cache_max_return_bytes") > 64);
    assert.ok(used("request_max_bytes") > used("job_cache_max_return_bytes"));
    assert.equal(max("request_max_bytes"), 100 * 1024 * 1024);
  });

  it("show the counter of every limit that refuses something, from the first look on", async () => {
    const { families } = await scrape();
    const absent = Object.entries(limitCounters).filter(([, { metric, labels }]) => {
      if (Object.hasOwn({ ...databases, ...eventReturns }, metric) || isOfCluster(metric)) return false;
      const samples = families.get(metric)?.samples ?? [];
      return !samples.some((sample) => Object.entries(labels).every(([name, value]) => sample.labels[name] === value));
    });
    assert.deepEqual(absent, []);
  });

  it("hold no minion's id and no key", async () => {
    const { text } = await scrape();
    const rootKey = readFileSync(`${master.cacheDirectory}/.root_key`, "utf8").trim();
    assert.ok(!text.includes(rootKey));
    assert.doesNotMatch(text, /sim-\d/);
    assert.doesNotMatch(text, /BEGIN/);
  });

  it("come by the request port as well, with the local key, and leave no event", async () => {
    const { families: start } = await scrape();
    const rows = (await client.wheel("saltworks.metrics")) as [string, ReadonlyMap<string, string>, number][];
    const connected = rows.find(
      ([name, labels]) => name === "saltworks_minions" && labels.get("state") === "connected",
    );
    assert.equal(connected?.[2], minionCount);
    const { families: end } = await scrape();
    const events = (families: Families) => sumOfSamples(families, "saltworks_events_total", { source: "master" });
    assert.equal(events(end), events(start));
    const top = await runCli(["top", "-c", master.configDirectory, "--once"], topTimeoutMs);
    assert.equal(top.exitCode, 0);
    assert.match(top.stdout, new RegExp(`^Minions +${minionCount} of ${minionCount} connected `, "m"));
  });

  it("name the threads as the system does", async () => {
    const { families } = await scrape();
    const tasks = `/proc/${master.processId}/task`;
    const names = new Set(readdirSync(tasks).map((id) => readFileSync(`${tasks}/${id}/comm`, "utf8").trim()));
    const measured = families.get("saltworks_thread_cpu_seconds_total")?.samples.map(({ labels }) => labels.thread);
    for (const name of ["sw-worker-0", "sw-worker-1", "sw-rsa-0"]) {
      assert.ok(names.has(name), name);
      assert.ok(measured?.includes(name), name);
    }
    assert.ok(measured?.includes("main"));
  });
});
