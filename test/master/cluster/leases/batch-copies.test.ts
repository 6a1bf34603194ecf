/** Logs of a cluster's batch jobs: the same on all members, with one owner, also when two believe to be it. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import pino from "pino";
import type { LeaseBucket } from "../../../../src/cluster/leases/bucket.ts";
import { openLease } from "../../../../src/cluster/leases/record.ts";
import { BatchCopies } from "../../../../src/master/cluster/leases/batch-copies.ts";
import type { OpenBatchLog } from "../../../../src/store/jobs/batch-log.ts";
import { secretBoxWith } from "../../../../src/store/secrets/sealed.ts";
import type { BatchEntry } from "../../../../src/wire/batch-options.ts";
import { NatsServer } from "../../../cluster/nats.ts";
import { untilSo } from "../../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../../services/nats-server.ts";
import { temporaryDirectories } from "../../../store/temporary.ts";
import { Holder, openBucket } from "./lease-holder.ts";

const skip = await natsServerSkip();
const logger = pino({ level: "silent" });
const jid = "20260101000000000000";

const begin: BatchEntry = {
  ...{ kind: "new", at: 1, jid, user: "root", ping: "p", expected: 2, timeoutMs: 1, gatherTimeoutMs: 1, size: "1" },
  ...{ waitSeconds: 0, isFailHard: false, canary: 0, failuresMax: "", isStatic: false, load: "" },
};
const queue = (...ids: string[]): BatchEntry => ({ kind: "queue", ids, absent: [], window: 1 });
const start = (step: string, id: string): BatchEntry => ({ kind: "start", jid: step, ids: [id], at: 2 });

describe("logs of a cluster's batch jobs", { skip, timeout: 120_000 }, () => {
  const server = new NatsServer();
  const temporary = temporaryDirectories();
  const box = secretBoxWith(randomBytes(32));
  const buckets: LeaseBucket[] = [];
  let bucketCount = 0;

  before(() => server.start());
  after(() => server.close());
  afterEach(async () => {
    await Promise.all(buckets.splice(0).map((bucket) => bucket.close()));
  });

  async function openMember(name: string) {
    const holder = new Holder(name);
    const directory = temporary();
    let bucket: LeaseBucket | undefined;
    const copies = new BatchCopies({
      ...{ clusterId: "test", directory, leases: holder.asLeases, bucket: () => bucket, logger },
      ask: async (owner, question) => `${owner} ${question.kind} ${question.jid}`,
    });
    const running = new Map<string, OpenBatchLog>();
    const events: string[] = [];
    copies.use({
      takeOver: (id) => {
        events.push("takeOver");
        running.set(id, copies.logs.reopen(directory, id).log);
      },
      isRunning: (id) => running.has(id),
      release: (id) => {
        if (running.has(id)) events.push("release");
        running.get(id)?.close();
        running.delete(id);
      },
      control: async () => "changed",
    });
    bucket = await openBucket(server, `batches_${bucketCount}`, {
      ...{ box, logger },
      take: (key, _, value) => {
        if (key.kind === "part" && value !== undefined) copies.note(key.jid, key.number, openLease(box, key, value));
      },
    });
    buckets.push(bucket);
    copies.noteCopied();
    const begun = () => {
      const log = copies.logs.create(directory, jid);
      running.set(jid, log);
      return log;
    };
    return { holder, copies, running, events, begun, text: () => readFileSync(join(directory, `${jid}.log`), "utf8") };
  }
  async function openMembers(...names: string[]) {
    bucketCount += 1;
    const members = await Promise.all(names.map(openMember));
    return members as [(typeof members)[0], (typeof members)[0], (typeof members)[0]];
  }

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
    b.copies.look();
    // The claim is under way, and the former owner begins a step.
    log.append(start("s2", "m2"));
    const outcome = await log.sync().then(
      () => "synced",
      ({ code }) => code,
    );
    await untilSo("one of them is the owner", () => b.running.has(jid) !== a.running.has(jid));
    if (outcome === "synced") assert.match(b.text(), /"s2"/, "the new owner knows the step");
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
});
