/** A publisher with a sequence of jobs: what it gives to the sequence, and what it does with jobs that come from it. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { JobTaker } from "../../../src/cluster/jobs/reader.ts";
import { decodeJob, encodeJob, type SharedJob } from "../../../src/cluster/jobs/record.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { type JobsParts, trackerOf } from "../../../src/master/jobs/jobs.ts";
import { type PresenceParts, presenceOf } from "../../../src/master/presence/presence-ping.ts";
import { ownJob } from "../../../src/master/publish/own-job.ts";
import { Publisher, type PublisherOptions } from "../../../src/master/publish/publisher.ts";
import { JoiningSequence } from "../../../src/master/publish/sequence.ts";
import type { ToldJob } from "../../../src/master/publish/shared-jobs.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { decodePublish } from "../../../src/wire/publish.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import type { ValueMap } from "../../../src/wire/values.ts";

const matched = ["web1", "web2"];

describe("a publisher of a cluster's member", () => {
  let steps: string[];
  let appended: SharedJob[];
  let take: JobTaker;
  let refusal: SaltworksError | undefined;
  let isDiskFull: boolean;
  let stored: Promise<void> | undefined;
  let serial: number;
  let publisher: Publisher;
  let serials: number[];

  /** As the stream does: the job comes back with its serial. */
  async function deliver(job: SharedJob, isFresh = true, isNaming = true, by = "member1") {
    serial += 1;
    const received = decodeJob(encodeJob(job, by, Date.now()), serial);
    const taken = await take(isNaming ? received : { ...received, minions: undefined });
    await taken.send(isFresh);
    return taken;
  }

  beforeEach(() => {
    [steps, appended, serials, refusal, serial] = [[], [], [], undefined, 1_000];
    isDiskFull = false;
    publisher = new Publisher({
      pool: {
        slotCount: 1,
        offer: async (_: number, { build }: { build: () => { task: { kind: string; packed?: Uint8Array } } }) => {
          const { task } = build();
          if (isDiskFull && task.kind === "putLoad") throw new SaltworksError("STORE_FAILED", "the disk is full");
          if (task.kind !== "seal") steps.push(task.kind);
          return task.packed;
        },
        broadcast: async () => [],
      },
      partitioner: { slotOf: () => 0 },
      rsa: {},
      fileEpoch: { advance: () => steps.push("epoch") },
      targets: {
        written: (job: unknown) => job,
        expected: async () => ({ minions: TextList.of(matched), missing: [] }),
      },
      front: {
        send: async (frame: Uint8Array, addressed: (() => readonly string[]) | undefined) => {
          const load = decode(decodePublish(frame).load) as ValueMap;
          steps.push(`send ${load.get("serial")} to ${addressed?.().join(" ")}`);
        },
      },
      sequence: {
        counters: undefined,
        deliverTo: (taker: JobTaker) => {
          take = taker;
        },
        append: async (job: SharedJob) => {
          if (refusal !== undefined) throw refusal;
          appended.push(job);
          ({ stored } = await deliver(job));
        },
        close: async () => undefined,
      },
      nextSerial: () => assert.fail("serials are the sequence's"),
      noteSerial: (noted: number) => serials.push(noted),
      member: "member1",
      fire: (tag: string) => steps.push(tag.replace(/\d{20}/, "JID")),
      fireElsewhere: (tag: string) => steps.push(`elsewhere ${tag.replace(/\d{20}/, "JID")}`),
      logger: { error: (_: unknown, text: string) => steps.push(text), info: () => undefined },
      ...{ isSigning: false, signingAlgorithm: "", isUniqueJid: false, hasLowerMasters: false },
    } as unknown as PublisherOptions);
    publisher.onSent(() => steps.push("sent"));
    publisher.onTaken(({ kind, minions }) => void steps.push(`taken ${kind} of ${minions.texts().join(" ")}`));
  });

  const told = ["putLoad", "JID", "salt/job/JID/new", "taken job of web1 web2"];

  it("stores, announces and sends a job when it comes back, under the serial of its place", async () => {
    const published = await publisher.publish(ownJob("state.apply", [], "web*", "glob", "root"), () => {
      steps.push("accepted");
    });
    assert.equal(published?.minions.count, 2);
    assert.deepEqual(steps, [
      ...["accepted", ...told, "salt/job/JID/publish", "epoch", "send 1001 to web1 web2", "sent"],
    ]);
    assert.deepEqual(serials, [1_001]);
    assert.equal(appended[0]?.kind, "job");
    assert.equal(appended[0]?.isChosenId, false);
  });

  it("sends a job that the disk has no room for, and stores it at its end if there is room then", async () => {
    isDiskFull = true;
    await publisher.publish(ownJob("test.ping", [], "web*", "glob", "root"));
    assert.ok(steps.includes("sent") && !steps.includes("putLoad"), steps.join());
    isDiskFull = false;
    await publisher.close();
    assert.ok(steps.includes("putLoad"), steps.join());
    assert.ok(stored !== undefined, "the reader must wait with its place");
    await stored;
  });

  it("leaves no trace of a job that is refused", async () => {
    refusal = new SaltworksError("CLUSTER_UNAVAILABLE", "too few members answer");
    await assert.rejects(publisher.publish(ownJob("test.ping", [], "*", "glob", "root")), refusal);
    assert.deepEqual(steps, []);
    assert.equal(publisher.counters.jobs, 0);
    assert.equal(publisher.waitingCount, 0);
  });

  it("stores and tracks a job that is too old, and neither announces nor sends it", async () => {
    await publisher.publish(ownJob("test.ping", [], "*", "glob", "root"));
    steps.length = 0;
    await deliver(appended[0] as SharedJob, false);
    assert.deepEqual(steps, ["putLoad", "taken job of web1 web2"]);
  });

  it("shows the events of another member's job to listeners only", async () => {
    await publisher.publish(ownJob("state.apply", [], "web*", "glob", "root"));
    steps.length = 0;
    await deliver(appended[0] as SharedJob, true, true, "member2");
    assert.deepEqual(
      steps.filter((step) => step.includes("JID")),
      ["elsewhere JID", "elsewhere salt/job/JID/new", "elsewhere salt/job/JID/publish"],
    );
  });

  it("matches the target itself for a job without names", async () => {
    await publisher.publish(ownJob("test.ping", [], "*", "glob", "root"));
    steps.length = 0;
    await deliver(appended[0] as SharedJob, true, false);
    assert.ok(steps.includes("send 1002 to web1 web2"), steps.join());
  });

  it("neither stores nor announces pings and jobs for absent minions, and sends them in the sequence", async () => {
    const jid = publisher.newJid();
    await publisher.send(ownJob("test.ping", [], ["web1"], "list", "root", true), jid, ["web1"]);
    const job = { fun: "test.ping", arg: [], ret: "", user: "root", publishFields: new Map() };
    await publisher.deliver(job, jid, ["web2"]);
    assert.deepEqual(
      appended.map(({ kind, jid: id, load }) => [kind, id, load]),
      [
        ["ping", jid, undefined],
        ["again", jid, undefined],
      ],
    );
    assert.deepEqual(steps, [
      ...["taken ping of web1", "send 1001 to web1", "sent"],
      ...["taken again of web2", "send 1002 to web2", "sent"],
    ]);
  });

  it("marks the question of find_job, which is not tracked", async () => {
    await publisher.publish(ownJob("saltutil.find_job", ["1"], ["web1"], "list", "root"));
    assert.equal(appended[0]?.kind, "question");
  });
});

describe("jobs of other members", () => {
  const told: ToldJob = {
    ...{ kind: "job", jid: "20260101000000000001", fun: ["test.ping", "test.version"], user: "root" },
    ...{ minions: TextList.of(matched), missing: ["gone"] },
  };
  let tell: (job: ToldJob) => Promise<void> | void = () => assert.fail("no part listens");
  const publisher = {
    publish: () => assert.fail("nothing is published"),
    onSent: () => undefined,
    onTaken: (listener: typeof tell) => {
      tell = listener;
    },
  };

  it("are tracked, but for questions and jobs that this member tracks", async () => {
    const parts = { config: {}, logger: {} } as unknown as JobsParts;
    const tracker = trackerOf(parts, publisher, { isGone: () => false }, undefined);
    try {
      await tell(told);
      const record = tracker.record(told.jid);
      assert.deepEqual([record?.minionCount, record?.user, record?.missing], [2, "root", ["gone"]]);
      assert.ok(tracker.isListening, "workers tell the returns");
      await tell(told);
      assert.equal(tracker.record(told.jid), record);
      await tell({ ...told, kind: "question", jid: "20260101000000000002" });
      assert.equal(tracker.recordCount, 1);
    } finally {
      tracker.close();
    }
  });

  it("that are presence pings are known to the workers, which keep no answers to them", async () => {
    const start = { presencePings: [], accepted: new Set() };
    const pinged: unknown[] = [];
    const presence = presenceOf(
      {
        config: { presence_timeout: 60, order_masters: false, user: "root" },
        ...{ start, logger: {} },
        pool: { broadcast: async (build: () => unknown) => void pinged.push(build()) },
      } as unknown as PresenceParts,
      publisher as unknown as Publisher,
    );
    try {
      await tell({ ...told, kind: "ping", jid: "ping1" });
      await tell({ ...told, kind: "ping", jid: "ping1" });
      await tell({ ...told, kind: "again", jid: "job1" });
      assert.deepEqual(start.presencePings, ["ping1"]);
      assert.deepEqual(pinged, [{ kind: "presencePing", jid: "ping1" }]);
    } finally {
      presence.close();
    }
  });
});

describe("a sequence before the member has joined", () => {
  const job = {} as SharedJob;

  it("refuses jobs with the reason, and takes the ones that still wait when it joins", async () => {
    const hasty = new JoiningSequence(1);
    await assert.rejects(hasty.append(job), { code: "CLUSTER_UNAVAILABLE", message: /has not joined/ });
    assert.equal(hasty.counters, undefined);
    await hasty.close();
    await assert.rejects(hasty.append(job), { code: "CLUSTER_UNAVAILABLE" });
    const sequence = new JoiningSequence();
    const waiting = sequence.append(job);
    const appended: SharedJob[] = [];
    let closed = 0;
    const stream = {
      counters: {} as NonNullable<JoiningSequence["counters"]>,
      append: async (one: SharedJob) => void appended.push(one),
      close: async () => {
        closed += 1;
      },
    };
    await sequence.use(stream);
    await waiting;
    await sequence.append(job);
    assert.deepEqual(appended, [job, job]);
    await sequence.close();
    assert.equal(closed, 1);
  });
});
