/** Logs of a cluster's batch jobs: the same on all members, with one owner, also when two believe to be it. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { describe, it, mock } from "node:test";
import type { LeaseBucket } from "../../../../src/cluster/leases/bucket.ts";
import type { PartContent } from "../../../../src/cluster/leases/record.ts";
import { SaltworksError } from "../../../../src/errors.ts";
import { BatchLog, listBatches } from "../../../../src/store/jobs/batch-log.ts";
import type { BatchEntry } from "../../../../src/wire/batch-options.ts";
import { untilSo } from "../../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../../services/nats-server.ts";
import { batchMembers, begin, done, batchJid as jid, queue, start } from "./batch-member.ts";

const skip = await natsServerSkip();

describe("logs of a cluster's batch jobs", { skip, timeout: 120_000 }, () => {
  const { openMember, openMembers } = batchMembers();

  it("are the same on each member, and show the state", async () => {
    const [a, b] = await openMembers("a", "b");
    const log = a.begun();
    for (const entry of [begin, queue("m1", "m2"), start("s1", "m1")]) log.append(entry);
    await log.sync();
    await untilSo("the other has it", () => b.copies.states().get(jid)?.running === 1);
    assert.equal(b.text(), a.text());
    assert.match(a.text(), /"cluster":"test"/);
    const { state, minions, queued } = b.copies.states().get(jid) ?? {};
    assert.deepEqual([state, minions, queued], ["running", 2, 1]);
    assert.equal(await b.copies.control("pause", jid, "root"), `a control ${jid}`);
    assert.equal(a.copies.control("pause", jid, "root"), undefined);
    const late = await openMember("c");
    assert.equal(late.text(), a.text());
  });

  it("take a line that is larger than a message", async () => {
    const [a, b] = await openMembers("a", "b");
    const ids = Array.from({ length: 40_000 }, (_, index) => `minion-with-a-long-name-${index}.example.net`);
    const log = a.begun();
    log.append(begin);
    log.append(queue(...ids));
    await log.sync();
    await untilSo("the other has it", () => b.copies.states().get(jid)?.minions === ids.length);
    assert.equal(b.text(), a.text());
  });

  it("refuse a former owner that believes to be the owner still", async () => {
    const [a, b] = await openMembers("a", "b");
    const log = a.begun();
    for (const entry of [begin, queue("m1", "m2"), start("s1", "m1")]) log.append(entry);
    await log.sync();
    await untilSo("the other has it", () => b.copies.states().get(jid)?.running === 1);
    b.holder.lapsed.add("a");
    const put = b.bucket.put.bind(b.bucket);
    const claimed = new Promise<void>((resolve) => {
      mock.method(b.bucket, "put", (...write: Parameters<LeaseBucket["put"]>) => {
        if ((write[1] as PartContent).isClaim) resolve();
        return put(...write);
      });
    });
    b.copies.look();
    await claimed;
    // The claim is under way, and the former owner begins a step.
    log.append(start("s2", "m2"));
    const outcome = await log.sync().then(
      () => "synced",
      ({ code }) => code,
    );
    await untilSo("one of them is the owner", () => b.running.has(jid) !== a.running.has(jid));
    if (outcome === "synced") await untilSo("the other knows the step", () => b.text().includes('"s2"'));
    else assert.doesNotMatch(b.text(), /"s2"/);
    assert.deepEqual(a.events, b.running.has(jid) ? ["release"] : []);
    const owner = b.running.get(jid) ?? a.running.get(jid);
    owner?.append(start("s3", "m2"));
    await owner?.sync();
    await untilSo("both have the same", () => a.text() === b.text() && a.text().includes('"s3"'));
  });

  it("are taken over by exactly one of two members", async () => {
    const [a, b, c] = await openMembers("a", "b", "c");
    const log = a.begun();
    log.append(begin);
    await log.sync();
    await untilSo("the others have it", () => [b, c].every(({ copies }) => copies.states().has(jid)));
    a.holder.holds = false;
    a.copies.releaseAll();
    for (const { holder } of [b, c]) holder.lapsed.add("a");
    for (const { copies } of [b, c]) copies.look();
    await untilSo("one takes it over", () => [b, c].some(({ events }) => events.length > 0));
    await untilSo("no claim is under way", () => b.copies.counters.taken + c.copies.counters.taken === 1);
    const [owner, other] = b.running.has(jid) ? [b, c] : [c, b];
    owner.running.get(jid)?.append(queue("m1"));
    await untilSo("the other copies it", () => other.copies.states().get(jid)?.minions === 1);
    assert.deepEqual([owner.events, other.events], [["takeOver"], []]);
  });

  it("of an owner that was started again lose what the cluster never had", async () => {
    const [a, b] = await openMembers("a", "b");
    const log = a.begun();
    log.append(begin);
    await log.sync();
    await untilSo("the other has it", () => b.copies.states().has(jid));
    a.copies.releaseAll();
    b.holder.lapsed.add("a");
    b.copies.look();
    await untilSo("the other owns it", () => b.running.has(jid));
    b.running.get(jid)?.append(queue("m1"));
    await untilSo("both have the same", () => a.text() === b.text() && a.text().includes("m1"));
  });

  it("that are over are not gone on with by members that were away meanwhile", async () => {
    const [a, b, c] = await openMembers("a", "b", "c");
    const away = [b, c];
    const log = a.begun();
    log.append(begin);
    await log.sync();
    await untilSo("the others have it", () => away.every(({ copies }) => copies.states().has(jid)));
    for (const { now } of away) now.isCutOff = true;
    log.append(done);
    await log.sync();
    await untilSo("it is over", () => !a.copies.states().has(jid));
    await a.bucket.removeParts(jid);
    for (const { now } of away) now.isCutOff = false;
    b.holder.lapsed.add("a");
    b.copies.look();
    await untilSo("the one learns it", () => !b.copies.states().has(jid));
    await untilSo("the other hears it", () => !c.copies.states().has(jid));
    assert.deepEqual([b.events, b.copies.counters.taken], [[], 0]);
  });

  it("have one writer of a member", async () => {
    const [a] = await openMembers("a");
    const log = a.begun();
    log.append(begin);
    await log.sync();
    await untilSo("the watch brings it", () => a.copies.states().has(jid));
    const other = a.copies.logs.reopen(dirname(a.file), jid).log;
    log.append(start("s1", "m1"));
    other.append(start("s2", "m2"));
    const outcomes = await Promise.allSettled([log.sync(), other.sync()]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  });

  it("are not claimed while an abort waits to be written", async () => {
    const [a, b] = await openMembers("a", "b");
    const log = a.begun();
    log.append(begin);
    await log.sync();
    await untilSo("the other has it", () => b.copies.states().has(jid));
    b.holder.lapsed.add("a");
    b.now.owesAbort = true;
    const put = mock.method(b.bucket, "put");
    b.copies.look();
    assert.equal(put.mock.callCount(), 0);
    b.now.owesAbort = false;
    b.copies.look();
    await untilSo("it is taken over", () => b.events.length > 0);
  });

  it("of an own batch job that rests take no abort", async () => {
    const [a] = await openMembers("a");
    const log = a.begun();
    log.append(begin);
    await log.sync();
    await untilSo("the watch brings it", () => a.copies.states().has(jid));
    a.holder.holds = false;
    a.copies.releaseAll();
    assert.equal(await a.copies.control("abort", jid, "root"), `a control ${jid}`, "the asked one says why");
    a.holder.holds = true;
    assert.equal(a.copies.control("abort", jid, "root"), undefined);
    a.copies.look();
    assert.equal(await a.copies.control("abort", jid, "root"), `a control ${jid}`, "a claim is under way");
    await untilSo("it goes on", () => a.running.has(jid));
    assert.equal(a.copies.control("abort", jid, "root"), undefined);
  });

  it("take no abort before all of the cluster's are read", async () => {
    const [a] = await openMembers("a");
    a.copies.isCopied = false;
    assert.equal(await a.copies.control("abort", jid, "root"), `a control ${jid}`);
    a.copies.noteCopied();
    assert.equal(a.copies.control("abort", jid, "root"), undefined);
  });

  it("are copied once a disk that refused them takes them", async () => {
    const [a, b] = await openMembers("a", "b");
    mkdirSync(b.file);
    const log = a.begun();
    for (const entry of [begin, queue("m1", "m2")]) log.append(entry);
    await log.sync();
    await untilSo("the other shows it", () => b.copies.states().get(jid)?.minions === 2);
    rmdirSync(b.file);
    b.holder.lapsed.add("a");
    b.copies.look();
    assert.equal(b.text(), a.text());
    await untilSo("the other goes on", () => b.running.has(jid));
    assert.equal(b.copies.counters.broken, 0);
  });

  it("that lack a part are read again from the cluster, and can be taken over then", async () => {
    const [a, b] = await openMembers("a", "b");
    const log = a.begun();
    for (const entry of [begin, queue("m1", "m2")]) log.append(entry);
    await log.sync();
    await untilSo("the other has it", () => b.copies.states().get(jid)?.minions === 2);
    b.now.isCutOff = true;
    const seen = b.seen();
    log.append(start("s1", "m1"));
    await untilSo("the part is lost", () => b.seen() > seen);
    b.now.isCutOff = false;
    log.append(start("s2", "m2"));
    await untilSo("it is broken", () => b.copies.counters.broken === 1);
    b.holder.lapsed.add("a");
    b.copies.look();
    await untilSo("it is whole again", () => b.copies.repairs.repaired === 1);
    assert.equal(b.text(), a.text());
    assert.equal(b.copies.states().get(jid)?.running, 2);
    b.copies.look();
    await untilSo("the other goes on", () => b.running.has(jid));
    b.running.get(jid)?.append(start("s3", "m2"));
    await untilSo("both have the same", () => a.text() === b.text() && a.text().includes('"s3"'));
  });

  it("that lack their first part are read from the cluster", async () => {
    const [a, b] = await openMembers("a", "b");
    b.now.isCutOff = true;
    const log = a.begun();
    log.append(begin);
    await untilSo("the part is lost", () => b.seen() > 0);
    b.now.isCutOff = false;
    log.append(queue("m1", "m2"));
    await untilSo("it is broken", () => b.copies.counters.broken === 1);
    assert.equal(b.copies.states().has(jid), false);
    b.copies.look();
    await untilSo("the other shows it", () => b.copies.states().get(jid)?.minions === 2);
    assert.equal(b.text(), a.text());
  });

  it("that are broken show the end of a job that is over meanwhile", async () => {
    const [a, b] = await openMembers("a", "b");
    const log = a.begun();
    log.append(begin);
    await log.sync();
    await untilSo("the other shows it", () => b.copies.states().has(jid));
    rmSync(b.file);
    log.append(start("s1", "m1"));
    await untilSo("it is broken", () => b.copies.counters.broken === 1);
    const read = mock.method(b.bucket, "read", async () => {
      throw new SaltworksError("CLUSTER_UNAVAILABLE", "no leader answers");
    });
    b.copies.look();
    await untilSo("it is tried", () => read.mock.callCount() === 1);
    log.append(done);
    await untilSo("it is over", () => !b.copies.states().has(jid));
    read.mock.restore();
    await untilSo("the log is whole", () => {
      b.copies.look();
      return b.copies.repairs.repaired === 1;
    });
    assert.equal(b.text(), a.text());
    assert.match(b.text(), /"finished"/);
  });

  it("that cannot be copied are not shown when they are over", async () => {
    const [a, b] = await openMembers("a", "b");
    const log = a.begun();
    log.append(begin);
    await log.sync();
    await untilSo("the other shows it", () => b.copies.states().has(jid));
    rmSync(b.file);
    log.append(start("s1", "m1"));
    await untilSo("it is broken", () => b.copies.counters.broken === 1);
    log.append(done);
    await untilSo("it is gone", () => !b.copies.states().has(jid));
  });

  it("are looked through when another member's batch job is over", async () => {
    const [a, b] = await openMembers("a", "b");
    const log = a.begun();
    log.append(begin);
    await log.sync();
    assert.equal(b.now.sweeps, 1, "once all are read");
    log.append(done);
    await untilSo("it is over", () => b.now.sweeps === 2);
  });

  it("that the cluster never got are gone with their owner's lease", async () => {
    const [a] = await openMembers("a");
    mock.method(a.bucket, "put", () => Promise.reject(new Error("no majority")));
    const log = a.begun();
    log.append(begin);
    const synced = log.sync();
    a.holder.holds = false;
    a.copies.releaseAll();
    await assert.rejects(synced, { code: "CLUSTER_UNAVAILABLE" });
    assert.equal(existsSync(a.file), false);
  });

  it("of an earlier process that the cluster never got are dropped, and others stay", async () => {
    const [a] = await openMembers("a");
    const directory = dirname(a.file);
    const written = (id: string, ...entries: readonly BatchEntry[]) => {
      const log = BatchLog.create(directory, id);
      for (const entry of entries) log.append(entry);
      log.close();
    };
    const ofCluster = { ...begin, cluster: "test" };
    written(`${jid}_1`, ofCluster, { kind: "restart", at: 2 });
    written(`${jid}_2`, ofCluster, queue("m1"));
    written(`${jid}_3`, ofCluster, done);
    written(`${jid}_4`, begin);
    a.copies.noteCopied();
    assert.deepEqual(listBatches(directory), [`${jid}_2`, `${jid}_3`, `${jid}_4`]);
  });
});
