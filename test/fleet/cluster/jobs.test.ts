/** Jobs of three masters as one cluster: minions subscribed at different members, a member that is away, and too few members. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { LocalClient } from "../../../bench/local-client.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { jobFreshMs } from "../../../src/limits.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { readCounters, sumOf } from "../our-master.ts";
import { runCli } from "../run-cli.ts";
import { createKey, joinsOf, killMachine, memberAt, memberConfigs, startMembers, untilSo } from "./members.ts";
import { Subscriber } from "./subscriber.ts";

const skip = await natsServerSkip();
const cliTimeoutMs = 60_000;
const places = [0, 1, 2] as const;

describe("jobs of a cluster's members", { skip, timeout: 600_000 }, () => {
  const minionKeys = new Map(["web1", "web2", "web3", "gone"].map((id) => [id, createKey()]));
  let members: MasterProcess[] = [];
  let clients: LocalClient[] = [];
  let minions: Subscriber[] = [];

  const member = (at: number) => memberAt(members, at);
  const minion = (at: number) => minions[at] ?? assert.fail(`minion ${at} is not started`);
  const log = (at: number) => readFileSync(`${member(at).directory}/output`, "utf8");
  const joins = (at: number) => joinsOf(member(at));
  const untilJoined = (at: number, count = 1) => untilSo(`it joins ${count} times`, () => joins(at) >= count);
  const salt = (at: number, ...args: readonly string[]) =>
    runCli(["salt", "-c", member(at).configDirectory, ...args], cliTimeoutMs);
  const run = (at: number, ...args: readonly string[]) =>
    runCli(["run", "-c", member(at).configDirectory, "--out", "json", ...args], cliTimeoutMs);
  /** Publishes without waiting for returns. */
  const publish = async (at: number, target = "*"): Promise<string> => {
    const { stdout, stderr, exitCode } = await salt(at, "--async", target, "test.ping");
    assert.equal(exitCode, 0, stderr);
    const jid = /\b\d{20}\b/.exec(stdout)?.[0];
    assert.ok(jid !== undefined, stdout);
    return jid;
  };
  const open = (id: string, requests: number, publishes: number) => {
    const key = minionKeys.get(id);
    assert.ok(key !== undefined);
    return Subscriber.open(id, key, member(requests), member(publishes));
  };
  const subscribers = async (at: number) =>
    sumOf(await readCounters(clients[at] as LocalClient), /^publishes\.subscribers$/);

  before(async () => {
    const configs = await memberConfigs(3, { presence_timeout: 3_600 });
    members = await startMembers(configs);
    await Promise.all(places.map((at) => untilJoined(at)));
    clients = members.map((one) => one.client());
    for (const [id, { publicPem }] of minionKeys) writeFileSync(join(member(0).pkiDirectory, "minions", id), publicPem);
    await untilSo("all have the keys", () =>
      places.every((at) =>
        [...minionKeys.keys()].every((id) => existsSync(join(member(at).pkiDirectory, "minions", id))),
      ),
    );
    // The second asks one member and hears another.
    minions = [await open("web1", 0, 0), await open("web2", 0, 1), await open("web3", 2, 2)];
    await Promise.all(
      places.map((at) => untilSo(`member ${at} has its subscriber`, async () => (await subscribers(at)) === 1)),
    );
  });
  after(async () => {
    for (const one of minions) one.close();
    for (const client of clients) client.close();
    await Promise.all(members.map((one) => one.remove()));
  });

  it("reach the minions of every member, with rising serials, and are known to all", async () => {
    const jids: string[] = [];
    for (const at of [0, 1, 2, 0, 2, 1]) jids.push(await publish(at));
    await untilSo("all minions have all", () => minions.every((one) => jids.every((jid) => one.has(jid))));
    for (const one of minions) {
      assert.ok(one.serialsRise(), JSON.stringify(one.got));
      assert.deepEqual(
        one.got.map(({ serial }) => serial),
        minion(0).got.map(({ serial }) => serial),
        "a job has one serial everywhere",
      );
    }
    for (const at of places) {
      const listed = JSON.parse((await run(at, "jobs.list_jobs")).stdout) as object;
      for (const jid of jids) assert.ok(jid in listed, `member ${at} lists ${jid}`);
    }
    const job = JSON.parse((await run(2, "jobs.list_job", jids[0] ?? "")).stdout) as Record<string, unknown>;
    assert.equal(job.Function, "test.ping");
    assert.deepEqual([...(job.Minions as string[])].sort(), ["gone", "web1", "web2", "web3"]);
  });

  it("that run at the same time keep one order on all members", async () => {
    const before = minion(0).got.length;
    const jids = await Promise.all([0, 1, 2, 0, 1, 2].map((at) => publish(at)));
    await untilSo("all minions have all", () => minions.every((one) => jids.every((jid) => one.has(jid))));
    const orders = minions.map(({ got }) => got.slice(before).map(({ jid, serial }) => `${serial} ${jid}`));
    assert.deepEqual(orders[1], orders[0]);
    assert.deepEqual(orders[2], orders[0]);
    assert.ok(minions.every((one) => one.serialsRise()));
  });

  it("take the return of a minion that another member published to", async () => {
    const jid = await publish(0, "web3");
    await untilSo("web3 has it", () => minion(2).has(jid));
    await minion(2).probe.return(jid);
    await untilSo("its member knows the return", async () => {
      const found = JSON.parse((await run(2, "jobs.lookup_jid", jid)).stdout) as object;
      return "web3" in found;
    });
  });

  it("are read by all minions while one member rotates the AES key", async () => {
    const jids = [await publish(1)];
    const before = places.map((at) => log(at).split("rotated the AES key").length);
    const rotates = runCli(["key", "-c", member(0).configDirectory, "-y", "-d", "gone"], cliTimeoutMs);
    await untilSo("all have rotated", async () => {
      if (places.every((at) => log(at).split("rotated the AES key").length > (before[at] ?? 0))) return true;
      jids.push(await publish(jids.length % 3));
      return false;
    });
    assert.equal((await rotates).exitCode, 0);
    jids.push(await publish(2));
    await untilSo("all minions have all", async () => {
      await Promise.all(minions.map((one) => one.renew()));
      return minions.every((one) => jids.every((jid) => one.has(jid)));
    });
    for (const one of minions) {
      assert.ok(one.serialsRise(), JSON.stringify(one.got));
      assert.equal(new Set(one.got.map(({ aes }) => aes)).size, 2);
    }
  });

  it("that are old when a member comes back are not sent by it, and known to it", async () => {
    await member(1).stop();
    const missed = await publish(0);
    await untilSo("web1 has it", () => minion(0).has(missed));
    const publishedMs = performance.now();
    await untilSo("the job is old", () => performance.now() - publishedMs > jobFreshMs + 1_000);
    minion(1).close();
    const before = joins(1);
    await member(1).restart();
    minions[1] = await open("web2", 0, 1);
    await untilJoined(1, before + 1);
    clients[1]?.close();
    clients[1] = member(1).client();
    await untilSo("it has its subscriber", async () => (await subscribers(1)) === 1);
    const next = await publish(2);
    await untilSo("web2 has the next", () => minion(1).has(next));
    assert.ok(!minion(1).has(missed));
    const listed = JSON.parse((await run(1, "jobs.list_jobs")).stdout) as object;
    assert.ok(missed in listed && next in listed);
    assert.match(log(1), /older than 20 s/);
  });

  it("are refused with the reason while too few members answer, and go on after it", async () => {
    const counts = minions.map(({ got }) => got.length);
    await Promise.all([killMachine(member(1)), killMachine(member(2))]);
    const { stdout, stderr, exitCode } = await salt(0, "--async", "*", "test.ping");
    assert.notEqual(exitCode, 0);
    assert.match(`${stdout}${stderr}`, /too few members of the cluster answer/);
    assert.equal(minion(0).got.length, counts[0]);
    const before = places.map((at) => joins(at));
    await Promise.all([member(1).restart(), member(2).restart()]);
    await Promise.all([1, 2].map((at) => untilJoined(at, (before[at] ?? 0) + 1)));
    minion(2).close();
    minions[2] = await open("web3", 0, 2);
    clients[2]?.close();
    clients[2] = member(2).client();
    await untilSo("it has its subscriber", async () => (await subscribers(2)) === 1);
    let jid: string | undefined;
    await untilSo("a job is taken", async () => {
      const outcome = await salt(0, "--async", "web*", "test.ping");
      jid = /\b\d{20}\b/.exec(outcome.stdout)?.[0];
      return outcome.exitCode === 0;
    });
    await untilSo("web3 has it", () => jid !== undefined && minion(2).has(jid));
    assert.ok(minion(0).serialsRise());
  });
});
