/** A cluster's jobs that wait for absent minions: each member keeps them, and one of them sends them. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import pino from "pino";
import type { LeaseBucket } from "../../../../src/cluster/leases/bucket.ts";
import { type LeaseKey, openLease } from "../../../../src/cluster/leases/record.ts";
import { SaltworksError } from "../../../../src/errors.ts";
import { WaitingJobs } from "../../../../src/master/cluster/leases/waiting-jobs.ts";
import { Deliveries } from "../../../../src/master/jobs/deliveries.ts";
import { MinionNumbers } from "../../../../src/master/jobs/minion-numbers.ts";
import { openPendingJobs, type PendingJobRecord, packPendingJob } from "../../../../src/store/jobs/pending-jobs.ts";
import { secretBoxWith } from "../../../../src/store/secrets/sealed.ts";
import { NatsServer } from "../../../cluster/nats.ts";
import { untilSo } from "../../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../../services/nats-server.ts";
import { temporaryDirectories } from "../../../store/temporary.ts";
import { Holder, openBucket } from "./lease-holder.ts";

const skip = await natsServerSkip();
const logger = pino({ level: "silent" });
const jid = "20260101000000000000";

const record = (): PendingJobRecord => ({
  ...{ jid, minions: ["m1", "m2"], publishedMs: Date.now(), deadlineMs: Date.now() + 3_600_000 },
  fields: new Map([["fun", "cmd.run"]]),
});

type Put = LeaseBucket["put"];
type Hooks = { onSend: () => void; onPut: (key: LeaseKey, content: object | undefined) => Promise<void> };

const cutOff = async () => {
  throw new SaltworksError("CLUSTER_UNAVAILABLE", "no majority");
};

describe("waiting jobs of a cluster", { skip, timeout: 120_000 }, () => {
  const server = new NatsServer();
  const temporary = temporaryDirectories();
  const box = secretBoxWith(randomBytes(32));
  const closing: (() => Promise<void>)[] = [];
  let bucketCount = 0;

  before(() => server.start());
  after(() => server.close());
  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()));
  });

  async function openMember(name: string, directory = temporary()) {
    const holder = new Holder(name);
    let bucket: LeaseBucket | undefined;
    const clock = { ms: 0 };
    const put: Put = async (key, content, rest) => {
      await hooks.onPut(key, content);
      return await bucket?.put(key, content, rest);
    };
    const waiting = new WaitingJobs({
      ...{ leases: holder.asLeases, logger, now: () => clock.ms },
      bucket: () => bucket && { put, valueAt: bucket.valueAt.bind(bucket), noteFault: () => undefined },
      demand: () => {
        if (!holder.holds) throw new SaltworksError("CLUSTER_UNAVAILABLE", "no lease");
      },
    });
    const [sent, returned, told]: [string[], Set<string>, string[]] = [[], new Set(), []];
    const hooks: Hooks = { onSend: () => undefined, onPut: async () => undefined };
    const store = waiting.share(openPendingJobs(join(directory, "pending")));
    const deliveries = Deliveries.open({
      store,
      numbers: new MinionNumbers(),
      sharing: { appeared: (id) => told.push(id), cancel: async () => [] },
      send: async (_, ids) => {
        hooks.onSend();
        sent.push(...ids);
      },
      stillGranted: async (_, ids) => ({ granted: ids, undecided: [] }),
      askRunning: async (_, ids, _timeoutMs, onAnswer) => {
        for (const id of ids) onAnswer({ id, runsStill: false, isFault: false });
      },
      whoReturned: async (_, ids) => ids.filter((id) => returned.has(id)),
      isAccepted: () => true,
      isConnected: () => false,
      gatherTimeoutMs: 1_000,
      onFault: (error) => assert.match(error.message, /lease|another member|no majority/),
    });
    waiting.use(deliveries);
    bucket = await openBucket(server, `waiting_${bucketCount}`, {
      ...{ box, logger },
      take: (key, revision, value) => {
        if (key.kind === "record") waiting.noteRecord(key.jid, revision, value && openLease(box, key, value));
        if (key.kind === "state") waiting.noteState(key.jid, revision, value && openLease(box, key, value));
      },
    });
    waiting.noteCopied(bucket.identity);
    const opened = bucket;
    const close = async () => {
      await opened.close();
      await deliveries.close();
    };
    closing.push(close);
    const rest = { holder, waiting, deliveries, sent, returned, told, directory, close };
    return Object.assign(hooks, { ...rest, store, clock, bucket: opened });
  }
  const isKept = ({ deliveries }: Awaited<ReturnType<typeof openMember>>) => deliveries.job(jid) !== undefined;
  async function openPair() {
    bucketCount += 1;
    const pair = [await openMember("a"), await openMember("b")] as const;
    await pair[0].deliveries.keep(record());
    await untilSo("the other has it", () => isKept(pair[1]));
    return pair;
  }

  it("are sent by their owner, and the tries are known to all", async () => {
    const [a, b] = await openPair();
    b.deliveries.noteAppearance("m1", "start");
    assert.deepEqual(b.told, ["m1"], "the owner is told");
    a.deliveries.noteAppearance("m1", "start", true);
    await untilSo("it is sent", () => a.sent.length > 0);
    await untilSo("the other knows the try", () => b.deliveries.job(jid)?.tries("m1") === 1);
    assert.deepEqual([a.sent, b.sent], [["m1"], []]);
  });

  it("are over for all when they are withdrawn", async () => {
    const [a, b] = await openPair();
    assert.deepEqual(await a.deliveries.cancel(jid), ["m1", "m2"]);
    await untilSo("the other has it no more", () => !isKept(b));
    await b.close();
    closing.pop();
    assert.ok(!isKept(await openMember("b", b.directory)));
  });

  it("do not come back when their record is put back after they were withdrawn", async () => {
    const [a, b] = await openPair();
    const { kvm } = await server.connect();
    const records = await kvm.open(`waiting_${bucketCount}`);
    const kept: (readonly [string, Uint8Array])[] = [];
    for await (const key of await records.keys()) kept.push([key, (await records.get(key))?.value ?? new Uint8Array()]);
    assert.ok(kept.length >= 2);
    await a.deliveries.cancel(jid);
    await untilSo("the other has it no more", () => !isKept(b));
    for (const [key, value] of kept) await records.put(key, value);
    const later = { ...record(), jid: "20260101000000000001" };
    await a.deliveries.keep(later);
    await untilSo("a later one is there", () => b.deliveries.job(later.jid) !== undefined);
    assert.deepEqual([isKept(a), isKept(b)], [false, false]);
    assert.deepEqual([a.waiting.counters.putBack, b.waiting.counters.putBack], [1, 1]);
  });

  it("are taken over, and not sent by a former owner that believes to be it still", async () => {
    const [a, b] = await openPair();
    b.returned.add("m2");
    b.holder.lapsed.add("a");
    await untilSo("the other owns it", () => {
      b.waiting.look();
      return b.deliveries.job(jid)?.isActive === true;
    });
    await untilSo("it found the return", () => b.deliveries.job(jid)?.leftCount === 1);
    await untilSo("the former owner knows", () => a.deliveries.job(jid)?.isActive === false);
    a.deliveries.noteAppearance("m1", "start");
    b.deliveries.noteAppearance("m1", "start");
    await untilSo("it is sent", () => b.sent.length > 0);
    assert.deepEqual([a.sent, b.sent, a.told], [[], ["m1"], ["m1"]]);
  });

  it("are not sent by an owner that does not know yet that it is a former one", async () => {
    const [a, b] = await openPair();
    b.holder.lapsed.add("a");
    let isSending = false;
    a.onSend = () => {
      isSending = true;
    };
    await untilSo("the other has claimed it", () => {
      b.waiting.look();
      return b.waiting.counters.taken === 1;
    });
    // Its watch has brought the claim or not: in both cases its tries are refused before it sends.
    a.deliveries.noteAppearance("m1", "start", true);
    b.deliveries.noteAppearance("m1", "start", true);
    await untilSo("it is sent", () => b.sent.length > 0);
    assert.equal(isSending, false);
  });

  it("are refused, and kept nowhere, without a lease", async () => {
    bucketCount += 1;
    const [a, b] = [await openMember("a"), await openMember("b")];
    a.holder.holds = false;
    await assert.rejects(a.deliveries.keep(record()), { code: "CLUSTER_UNAVAILABLE" });
    assert.deepEqual([isKept(a), isKept(b)], [false, false]);
    await a.close();
    closing.shift();
    assert.ok(!isKept(await openMember("a", a.directory)));
  });

  it("that a member has are given to a bucket that was made anew", async () => {
    const [a, b] = await openPair();
    for (const one of [a, b]) await one.close();
    closing.length = 0;
    bucketCount += 1;
    const [again, other] = [await openMember("a", a.directory), await openMember("b")];
    assert.equal(again.deliveries.job(jid)?.isActive, false);
    again.waiting.look();
    await untilSo("it owns the job", () => again.deliveries.job(jid)?.isActive === true);
    await untilSo("the other has it", () => isKept(other));
  });

  it("that were withdrawn without a majority do not come back with it", async () => {
    const [a, b] = await openPair();
    a.onPut = cutOff;
    await assert.rejects(a.deliveries.cancel(jid), { code: "CLUSTER_UNAVAILABLE" });
    a.holder.holds = false;
    a.waiting.releaseAll();
    a.deliveries.scan();
    await a.close();
    closing.shift();
    const again = await openMember("a", a.directory);
    again.deliveries.scan();
    await untilSo("it is over for all", () => {
      again.waiting.look();
      return !isKept(again) && !isKept(b);
    });
    assert.deepEqual([a.sent, again.sent, b.sent], [[], [], []]);
  });

  it("are not refused because of the owner's own writes", async () => {
    const [a, b] = await openPair();
    const job = a.deliveries.job(jid);
    assert.ok(job !== undefined);
    job.countTry("m1");
    const first = a.store.putMarks(jid, job.marks);
    job.countTry("m2");
    await Promise.all([first, a.store.putMarks(jid, job.marks)]);
    const tries = () => ["m1", "m2"].map((id) => b.deliveries.job(jid)?.tries(id));
    await untilSo("the other knows both tries", () => tries().every((count) => count === 1));
  });

  it("are nowhere if their member died while it gave them", async () => {
    bucketCount += 1;
    const [a, b] = [await openMember("a"), await openMember("b")];
    let count = 0;
    a.onPut = async () => {
      count += 1;
      if (count > 1) await cutOff();
    };
    await assert.rejects(a.deliveries.keep(record()), { code: "CLUSTER_UNAVAILABLE" });
    a.onPut = async () => undefined;
    const later = { ...record(), jid: "20260101000000000001" };
    await a.deliveries.keep(later);
    await untilSo("a later one is there", () => b.deliveries.job(later.jid) !== undefined);
    b.holder.lapsed.add("a");
    await untilSo("the later one is taken over", () => {
      b.waiting.look();
      return b.deliveries.job(later.jid)?.isActive === true;
    });
    assert.deepEqual([isKept(a), isKept(b), b.waiting.counters.taken], [false, false, 1]);
  });

  it("that were refused do not come back when their record arrives late", async () => {
    bucketCount += 1;
    const a = await openMember("a");
    const late: (() => ReturnType<Put>)[] = [];
    let isRemoved = false;
    a.onPut = async (key, content) => {
      if (key.kind === "record" && content === undefined) isRemoved = true;
      if (key.kind !== "record" || content === undefined) return;
      late.push(() => a.bucket.put(key, content, { revision: 0, lifeMs: 60_000 }));
      await cutOff();
    };
    await assert.rejects(a.deliveries.keep(record()), { code: "CLUSTER_UNAVAILABLE" });
    a.waiting.look();
    await untilSo("it is removed", () => isRemoved);
    assert.deepEqual(await Promise.all(late.map((put) => put())), [undefined]);
  });

  it("whose owner is not known are claimed after a while", async () => {
    bucketCount += 1;
    const [a, b] = [await openMember("a"), await openMember("b")];
    const packed = packPendingJob(record());
    await a.bucket.put({ kind: "record", jid }, { packed }, { revision: 0, lifeMs: 3_600_000 });
    await untilSo("both have it", () => isKept(a) && isKept(b));
    b.waiting.look();
    b.clock.ms += 60_000;
    await untilSo("one owns it", () => {
      b.waiting.look();
      return b.deliveries.job(jid)?.isActive === true;
    });
    await untilSo("the other knows", () => a.waiting.ownerOf(jid)?.member === "b");
  });

  it("that could not be given to a bucket that was made anew are kept, and given later", async () => {
    const [a, b] = await openPair();
    for (const one of [a, b]) await one.close();
    closing.length = 0;
    bucketCount += 1;
    const again = await openMember("a", a.directory);
    const tried = new Promise<void>((resolve) => {
      again.onPut = async () => {
        resolve();
        await cutOff();
      };
    });
    again.waiting.look();
    await tried;
    await again.close();
    closing.length = 0;
    const third = await openMember("a", a.directory);
    assert.equal(third.deliveries.job(jid)?.isActive, false);
    await untilSo("it owns the job", () => {
      third.waiting.look();
      return third.deliveries.job(jid)?.isActive === true;
    });
  });
});
