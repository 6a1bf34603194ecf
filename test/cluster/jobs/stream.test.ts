/** The sequence of jobs between members, on a real server: order, places, ids that are taken, a server that is away, a stream that is lost. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { encodeJob } from "../../../src/cluster/jobs/record.ts";
import { clusterNames } from "../../../src/cluster/names.ts";
import { jobAppendMs, jobFreshMs } from "../../../src/limits.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { NatsServer } from "../nats.ts";
import { JobMember, sharedJob, until } from "./members.ts";

const skip = await natsServerSkip();

describe("the sequence of a cluster's jobs", { skip, timeout: 300_000 }, () => {
  const server = new NatsServer();
  let members: JobMember[] = [];
  let clusterCount = 0;
  let clusterId = "";

  const member = (at: number): JobMember => {
    const found = members[at];
    assert.ok(found !== undefined);
    return found;
  };

  before(() => server.start());
  after(() => server.close());
  beforeEach(async () => {
    clusterCount += 1;
    clusterId = `test${clusterCount}`;
    members = ["member1", "member2"].map((name) => new JobMember(server, name));
    await Promise.all(members.map((one) => one.start(clusterId)));
  });
  afterEach(() => Promise.all(members.map((one) => one.remove())));

  it("gives every member the jobs of all in one order, with serials above the clock at its start", async () => {
    const beganMs = Date.now() - 60_000;
    await Promise.all(Array.from({ length: 60 }, (_, at) => member(at % 2).append(`job${at}`)));
    await Promise.all(members.map((one) => one.untilTaken(60)));
    const [first, second] = members.map(({ sent }) => sent.map(({ serial, jid }) => `${serial} ${jid}`));
    assert.deepEqual(first, second);
    const serials = member(0).sent.map(({ serial }) => serial);
    assert.ok(serials.every((serial, at) => serial > (serials[at - 1] ?? beganMs)));
    assert.equal(new Set(member(0).sent.map(({ jid }) => jid)).size, 60);
    assert.deepEqual(new Set(member(0).sent.map(({ member: by }) => by)), new Set(["member1", "member2"]));
  });

  it("sends an append once that the stream has twice, as after a leader that ended between two tries", async () => {
    const { jetstream } = await server.connect();
    const bytes = encodeJob(sharedJob("job1"), "member1", Date.now());
    for (const msgID of ["try1", "try2"]) await jetstream.publish(clusterNames(clusterId).jobs, bytes, { msgID });
    await member(0).append("job2");
    for (const one of members) {
      await one.untilTaken(3);
      assert.deepEqual(
        one.sent.map(({ jid }) => jid),
        ["job1", "job2"],
      );
      assert.equal(one.stream.counters.repeated, 1);
    }
  });

  it("resolves an append when the job is sent here, and rejects it with what sending threw", async () => {
    await member(0).append("job1");
    assert.deepEqual(
      member(0).sent.map(({ jid }) => jid),
      ["job1"],
    );
    member(0).onSend = ({ jid }) => {
      if (jid === "job2") throw new Error("the port took nothing");
    };
    await assert.rejects(member(0).append("job2"), /the port took nothing/);
    await member(0).append("job3");
    await member(1).untilTaken(3);
    assert.deepEqual(
      member(1).sent.map(({ jid }) => jid),
      ["job1", "job2", "job3"],
    );
    assert.equal(member(0).stream.counters.faults, 1);
  });

  it("lets a member that was away know old jobs, sends it only fresh ones, and neither twice", async () => {
    await member(1).stop();
    await member(0).append("old");
    member(0).aheadMs = jobFreshMs + 5_000;
    await member(0).append("fresh");
    member(1).aheadMs = jobFreshMs + 5_000;
    await member(1).start(clusterId);
    await member(1).untilTaken(2);
    assert.deepEqual(
      member(1).taken.map(({ jid }) => jid),
      ["old", "fresh"],
    );
    assert.deepEqual(
      member(1).sent.map(({ jid }) => jid),
      ["fresh"],
    );
    assert.equal(member(1).stream.counters.skipped, 1);
    assert.match(member(1).texts.join("\n"), /older than 20 s/);
    await member(1).stop();
    await member(1).start(clusterId);
    await member(0).append("new");
    await member(1).untilTaken(1);
    assert.deepEqual(
      member(1).taken.map(({ jid }) => jid),
      ["old", "fresh", "new"],
    );
  });

  it("gives a member that ends the jobs again that it could not store, and none once they are stored", async () => {
    const stored = new Map<string, () => void>();
    member(1).untilStored = ({ jid }) =>
      jid.startsWith("kept") ? undefined : new Promise((resolve) => stored.set(jid, resolve));
    for (const jid of ["kept1", "refused1", "kept2", "refused2"]) await member(0).append(jid);
    await member(1).untilTaken(4);
    const again = async (count: number) => {
      await member(1).stop();
      member(1).taken.length = 0;
      await member(1).start(clusterId);
      await member(0).append(`kept after ${count}`);
      await member(1).untilTaken(count);
      return member(1).taken.map(({ jid }) => jid);
    };
    assert.deepEqual(await again(4), ["refused1", "kept2", "refused2", "kept after 4"]);
    stored.get("refused1")?.();
    assert.deepEqual(await again(3), ["refused2", "kept after 4", "kept after 3"]);
    // Also after the reader's end, as when the store has room at last.
    await member(1).stop();
    stored.get("refused2")?.();
    await member(1).start(clusterId);
    assert.deepEqual(await again(1), ["kept after 1"]);
  });

  it("names the version of a job that it does not read, and the member to upgrade, and goes on", async () => {
    const { jetstream } = await server.connect();
    const newer = Buffer.from(encodeJob(sharedJob("newer"), "member2", Date.now()));
    newer[0] = 2;
    await jetstream.publish(clusterNames(clusterId).jobs, newer);
    await member(0).append("after");
    const about = "it has version 2, and this member reads version 1: upgrade the member member1";
    const told = member(0).texts.filter((text) => text.endsWith(about));
    assert.equal(told.length, 1, member(0).texts.join("; "));
    assert.deepEqual(
      member(0).sent.map(({ jid }) => jid),
      ["after"],
    );
  });

  it("refuses an id that another member has just made, and takes one that an operator chose", async () => {
    await member(0).append("same");
    await assert.rejects(member(1).append("same"), { code: "JOB_STATE" });
    await member(1).append("same", { isChosenId: true });
    await member(1).append("same", { kind: "again" });
    await member(0).untilTaken(3);
    assert.equal(member(0).sent.length, 3);
    assert.equal(member(1).stream.counters.duplicates, 2);
  });

  it("refuses jobs with a reason while its server is away, sends none of them later, and goes on after it", async () => {
    await member(0).append("before");
    await server.kill();
    const startMs = performance.now();
    const refused = await Promise.allSettled([member(0).append("lost1"), member(0).append("lost2")]);
    const tookMs = performance.now() - startMs;
    for (const one of refused) {
      assert.equal(one.status, "rejected");
      const reason = one.status === "rejected" ? (one.reason as Error) : new Error();
      assert.match(reason.message, /too few members of the cluster answer/);
      assert.match(String(reason.cause), /the test's server does not answer/);
    }
    assert.ok(tookMs < jobAppendMs + 3_000, `${tookMs} ms`);
    await server.start();
    await member(0).append("after");
    await member(1).untilTaken(2);
    await member(0).append("later");
    await member(1).untilTaken(3);
    for (const { sent } of members)
      assert.deepEqual(
        sent.map(({ jid }) => jid),
        ["before", "after", "later"],
      );
    assert.equal(member(0).stream.counters.refused, 2);
  });

  it("goes on with higher serials when the stream was made anew", async () => {
    await member(0).append("before");
    const { manager } = await server.connect();
    await manager.streams.delete(clusterNames(clusterId).jobs);
    await until("the stream is there again", () =>
      members.every(({ texts }) => texts.some((text) => text.includes("made anew"))),
    );
    await member(0).append("after");
    await member(1).untilTaken(2);
    const serials = member(1).sent.map(({ serial }) => serial);
    assert.ok((serials[1] ?? 0) > (serials[0] ?? 0), String(serials));
  });
});
