/** Batch jobs of a cluster that are over: parts of their logs that come back begin none of them again. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { describe, it } from "node:test";
import pino from "pino";
import type { PartContent } from "../../../../src/cluster/leases/record.ts";
import { endedBatchesMax } from "../../../../src/limits.ts";
import { EndedBatches } from "../../../../src/master/cluster/leases/ended-batches.ts";
import { untilSo } from "../../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../../services/nats-server.ts";
import { temporaryDirectories } from "../../../store/temporary.ts";
import { type BatchMember, batchMembers, begin, done, batchJid as jid, queue, start } from "./batch-member.ts";

const skip = await natsServerSkip();

describe("batch jobs of a cluster that are over", { skip, timeout: 120_000 }, () => {
  const { openMember, openMembers } = batchMembers();

  /** Runs a job at `a`, which claims it again, up to the part that ends it. @returns its first parts, and what puts them back after all are removed */
  async function runWithout(a: BatchMember, b: BatchMember) {
    const first = a.begun();
    for (const entry of [begin, queue("m1", "m2"), start("s1", "m1")]) first.append(entry);
    await first.sync();
    await untilSo("the watch brings it", () => a.copies.states().get(jid)?.running === 1);
    a.copies.releaseAll();
    a.copies.look();
    await untilSo("it is claimed", () => a.running.has(jid));
    const log = a.running.get(jid) ?? assert.fail("it does not run");
    await untilSo("the other has it", () => b.copies.states().get(jid)?.running === 1);
    const saved: PartContent[] = [];
    const part = async (number: number) => await a.bucket.read<PartContent>({ kind: "part", jid, number });
    for (let found = await part(0); found !== undefined; found = await part(saved.length)) saved.push(found);
    const putBack = async () => {
      await a.bucket.removeParts(jid);
      for (const [number, content] of saved.entries())
        assert.ok(await a.bucket.put({ kind: "part", jid, number }, content, { revision: 0, lifeMs: 60_000 }));
    };
    return { log, putBack, part, latest: saved.length - 1 };
  }

  async function runToEnd(a: BatchMember, b: BatchMember) {
    const { log, ...rest } = await runWithout(a, b);
    log.append(done);
    await log.sync();
    await untilSo("it is over", () => [a, b].every(({ copies }) => !copies.states().has(jid)));
    a.running.delete(jid);
    return rest;
  }

  it("are left alone when their parts are put back, and the parts are removed", async () => {
    const [a, b] = await openMembers("a", "b");
    const { putBack, part } = await runToEnd(a, b);
    const whole = b.text();
    assert.match(whole, /"done"/);
    await putBack();
    await untilSo("both see it", () => [a, b].every(({ copies }) => copies.counters.putBack === 1));
    assert.deepEqual([a.copies.states().has(jid), b.copies.states().has(jid)], [false, false]);
    b.holder.lapsed.add("a");
    b.copies.look();
    await untilSo("the parts are gone", async () => (await part(0)) === undefined);
    assert.deepEqual([b.events, b.copies.counters.taken, b.text()], [[], 0, whole]);
  });

  it("are not gone on with by a new member, once another one has seen that they are back", async () => {
    const [a, b] = await openMembers("a", "b");
    const { putBack } = await runToEnd(a, b);
    await putBack();
    const late = await openMember("c");
    assert.equal(late.copies.states().has(jid), true, "it cannot know");
    a.copies.look();
    await untilSo("it learns it", () => !late.copies.states().has(jid));
    late.holder.lapsed.add("a");
    late.copies.look();
    assert.deepEqual(late.events, []);
  });

  it("are left alone by members that start after their parts were put back", async () => {
    const [a, b] = await openMembers("a", "b");
    const { putBack, part, latest } = await runToEnd(a, b);
    const whole = a.text();
    await Promise.all([a.copies.finish(), b.copies.finish()]);
    for (const { now } of [a, b]) now.isCutOff = true;
    for (const { holder, file } of [a, b]) {
      await putBack();
      const again = await openMember(holder.self.member, { directory: dirname(file), session: 2 });
      assert.deepEqual([again.copies.counters.putBack, again.copies.states().size, again.text()], [1, 0, whole]);
      again.holder.lapsed.add("a");
      again.copies.look();
      assert.deepEqual(again.events, []);
      await untilSo("a mark is in their place", async () => (await part(latest))?.isGone === true);
    }
  });

  it("are known to a member that was away at their end", async () => {
    const [a, b] = await openMembers("a", "b");
    const { log, putBack } = await runWithout(a, b);
    b.now.isCutOff = true;
    log.append(done);
    await log.sync();
    await untilSo("it is over", () => !a.copies.states().has(jid));
    await a.bucket.removeParts(jid);
    b.now.isCutOff = false;
    b.holder.lapsed.add("a");
    b.copies.look();
    await untilSo("it learns it", () => !b.copies.states().has(jid));
    await putBack();
    await untilSo("it sees it", () => b.copies.counters.putBack === 1);
    b.copies.look();
    assert.deepEqual([b.events, b.copies.states().has(jid)], [[], false]);
  });

  it("count for nothing at a start when the cluster has their whole log", async () => {
    const [a, b] = await openMembers("a", "b");
    await runToEnd(a, b);
    const whole = b.text();
    await b.copies.finish();
    const again = await openMember("b", { directory: dirname(b.file), session: 2 });
    assert.deepEqual([again.copies.counters.putBack, again.copies.states().size, again.text()], [0, 0, whole]);
  });
});

describe("the list of batch jobs that are over", () => {
  const temporary = temporaryDirectories();
  const logger = pino({ level: "silent" });

  it("keeps the latest ones, also for the next process", () => {
    const options = { directory: temporary(), bucket: () => undefined, mark: async () => undefined, logger };
    const list = new EndedBatches(options);
    const jids = Array.from({ length: endedBatchesMax + 1 }, (_, index) => `${20_260_101_000_000 + index}000000`);
    for (const one of jids) list.add(one);
    list.save();
    for (const read of [list, new EndedBatches(options)])
      assert.deepEqual(
        [read.has(jids[0] ?? ""), read.has(jids[1] ?? ""), read.has(jids.at(-1) ?? "")],
        [false, true, true],
      );
  });
});
