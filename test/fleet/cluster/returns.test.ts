/** Returns of three masters as one cluster: each is on all, also when a member dies in the midst of them, and none is acknowledged without a majority. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { openJobCacheReader } from "../../../src/store/drivers/open-job-cache.ts";
import { allReturns } from "../../../src/store/jobs/job-cache.ts";
import { jidAt } from "../../../src/wire/jid.ts";
import { EventWatch } from "../../interop/event-watch.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { runCli } from "../run-cli.ts";
import { createKey, joinsOf, killMachine, memberAt, memberConfigs, startMembers, untilSo } from "./members.ts";

const skip = await natsServerSkip();
const cliTimeoutMs = 60_000;
const eventTimeoutMs = 20_000;
const minionRetryMs = 100;
const minionsMax = 30;

describe("returns of a cluster", { skip, timeout: 600_000 }, () => {
  let members: MasterProcess[] = [];
  const key = createKey();
  let lastMs = 0;
  const newJid = () => {
    lastMs = Math.max(lastMs + 1, Date.now());
    return jidAt(lastMs, 0);
  };
  const member = (at: number) => memberAt(members, at);
  const joins = (at: number) => joinsOf(member(at));
  const minion = (id: string, at: number) => ProbeMinion.open(id, key, member(at).requestPort);
  const returnedOn = async (at: number, jid: string): Promise<string[]> => {
    const jobs = openJobCacheReader(
      { cachedir: member(at).cacheDirectory, hash_type: "sha256" },
      { isReadOnly: true, onFault: (error) => assert.fail(error) },
    );
    const ids: string[] = [];
    for await (const { minionId } of allReturns(jobs, jid)) ids.push(minionId);
    await jobs.close();
    return ids;
  };
  const untilTaken = (one: ProbeMinion) =>
    untilSo("returns are taken", () =>
      one.return(newJid()).then(
        () => true,
        () => false,
      ),
    );
  const untilOn = (at: number, jid: string, ids: readonly string[]) =>
    untilSo(`member ${at + 1} has ${ids.length} returns of ${jid}`, async () => {
      const found = new Set(await returnedOn(at, jid));
      return ids.every((id) => found.has(id));
    });

  before(async () => {
    members = await startMembers(await memberConfigs(3, { auto_accept: true }));
    await Promise.all(members.map((_, at) => untilSo(`member ${at} joined`, () => joins(at) >= 1)));
  });
  after(async () => {
    await Promise.all(members.map((one) => one.remove()));
  });

  it("are on each member, and each member's bus tells of them", async () => {
    const jid = newJid();
    const watches = await Promise.all(members.map((one) => EventWatch.open(one.socketDirectory, eventTimeoutMs)));
    const web1 = await minion("web1", 1);
    await web1.ask(web1.seal({ ...web1.returnLoad(jid), tgt: "web1", tgt_type: "glob", arg: [] }));
    const tag = `salt/job/${jid}/ret/web1`;
    for (const watch of watches) {
      const { data } = await watch.until(tag, (event) => event.tag === tag, eventTimeoutMs);
      assert.equal(data.get("id"), "web1");
      watch.close();
    }
    for (const at of [0, 2]) {
      const { stdout, stderr } = await runCli(
        ["run", "-c", member(at).configDirectory, "--out", "json", "jobs.lookup_jid", jid],
        cliTimeoutMs,
      );
      assert.match(stdout, /"web1": true/, stderr);
    }
    web1.close();
  });

  it("that are larger than a message are on each member", async () => {
    const jid = newJid();
    const big = await minion("big1", 0);
    await big.ask(big.seal({ ...big.returnLoad(jid), return: "x".repeat(5_000_000) }));
    for (const at of [0, 1, 2]) await untilOn(at, jid, ["big1"]);
    big.close();
  });

  it("that were acknowledged are on all, when one is killed in the midst of them", async () => {
    const base = newJid().slice(0, -3);
    /** Ids of minions by job. */
    const taken = new Map<string, string[]>();
    let [takenCount, takenAfterKill, isKilled] = [0, 0, false];
    const minions = await Promise.all(
      Array.from({ length: minionsMax }, (_, index) => minion(`kill${index}`, index % 3)),
    );
    const ofFirst = minions.filter((_, index) => index % 3 === 0);
    const send = async (one: ProbeMinion): Promise<void> => {
      for (let turn = 0; turn < 1_000 && takenAfterKill < 500; turn += 1) {
        const jid = base + String(turn).padStart(3, "0");
        try {
          await one.return(jid);
        } catch {
          if (isKilled && ofFirst.includes(one)) return;
          await pause(minionRetryMs);
          continue;
        }
        taken.set(jid, [...(taken.get(jid) ?? []), one.id]);
        takenCount += 1;
        if (isKilled) takenAfterKill += 1;
      }
    };
    const sent = minions.map(send);
    await untilSo("returns are taken", () => takenCount > 500);
    await member(0).kill();
    isKilled = true;
    for (const one of ofFirst) one.close();
    await Promise.all(sent);
    assert.ok(takenAfterKill > 100, `${takenAfterKill} returns after the kill`);
    for (const at of [1, 2]) for (const [jid, ids] of taken) await untilOn(at, jid, ids);
    const before = joins(0);
    await member(0).restart();
    await untilSo("it joined", () => joins(0) > before);
    for (const [jid, ids] of taken) await untilOn(0, jid, ids);
    for (const one of minions) one.close();
  });

  it("are refused without a majority, and are on all after it", async () => {
    const jid = newJid();
    const one = await minion("alone1", 0);
    await untilTaken(one);
    await Promise.all([killMachine(member(1)), killMachine(member(2))]);
    await assert.rejects(one.return(jid));
    assert.deepEqual(await returnedOn(0, jid), ["alone1"], "its own log has it");
    const before = [joins(1), joins(2)];
    await Promise.all([member(1).restart(), member(2).restart()]);
    await untilSo("they joined", () => joins(1) > (before[0] ?? 0) && joins(2) > (before[1] ?? 0));
    // The minion does not send it again, so that the member must.
    for (const at of [1, 2]) await untilOn(at, jid, ["alone1"]);
    await untilTaken(one);
    one.close();
  });
});
