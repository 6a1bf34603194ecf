import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobMinions, MinionNumbers } from "../../../src/master/jobs/minion-numbers.ts";
import { keyReason, type ReasonSources, reasonFor } from "../../../src/master/jobs/reasons.ts";
import { JobRecord } from "../../../src/master/jobs/record.ts";
import { TextList } from "../../../src/wire/text-list.ts";

describe("JobMinions", () => {
  it("find each minion by its id, also later ones, and share one table of ids", () => {
    const numbers = new MinionNumbers();
    const first = new JobMinions(numbers, ["c", "a", "b", "a"]);
    const second = new JobMinions(numbers, ["b", "d"]);
    assert.deepEqual([first.count, second.count, numbers.count], [3, 2, 4]);
    const added = second.add("e");
    for (const list of [first, second])
      for (let index = 0; index < list.count; index += 1) assert.equal(list.indexOf(list.idAt(index)), index);
    assert.deepEqual([second.idAt(added), first.indexOf("e"), first.indexOf("nobody")], ["e", -1, -1]);
  });
  it("forget an id with the last list that holds it", () => {
    const numbers = new MinionNumbers();
    const first = new JobMinions(numbers, ["a", "b"]);
    const second = new JobMinions(numbers, ["b"]);
    first.release();
    assert.deepEqual([numbers.count, second.indexOf("b"), numbers.find("a")], [1, 0, undefined]);
    second.release();
    assert.equal(numbers.count, 0);
    const third = new JobMinions(numbers, ["x", "y", "z"]);
    assert.deepEqual(
      ["x", "y", "z"].map((id) => third.idAt(third.indexOf(id))),
      ["x", "y", "z"],
    );
  });
});

describe("JobRecord", () => {
  const recordOf = (ids: string[], numbers = new MinionNumbers()) =>
    new JobRecord({ jid: "job", fun: "test.ping", minions: TextList.of(ids) }, numbers, 1_000);

  it("takes ten bytes a minion, and not a map", () => {
    const ids = Array.from({ length: 100_000 }, (_, index) => `minion-${index}.example.com`);
    const numbers = new MinionNumbers();
    const minions = TextList.of(ids);
    const recorded = () => {
      const record = new JobRecord({ jid: "job", minions }, numbers, 0);
      record.noteAsked(ids.slice(0, 1));
      return record;
    };
    // The first job fills the table that all jobs share.
    const keep = recorded();
    const before = process.memoryUsage();
    const records = Array.from({ length: 20 }, recorded);
    const after = process.memoryUsage();
    const bytes = after.arrayBuffers - before.arrayBuffers;
    assert.ok(bytes / records.length <= 100_000 * 10 + 65_536, `${bytes / records.length} bytes of arrays for a job`);
    assert.equal(numbers.count, keep.minionCount);
  });

  it("knows every state, and when a minion came to it", () => {
    const record = recordOf(["a", "b", "c", "d"]);
    assert.equal(record.of("a")?.state, "targeted");
    record.sentMs = 1_010;
    record.noteRunning("b", 2_000);
    record.noteReturn("c", false, 3_000);
    record.noteReturn("d", true, 3_500);
    record.noteOver(4_000, () => false);
    const states = ["a", "b", "c", "d"].map((id) => record.of(id)).map((one) => [one?.state, one?.atMs]);
    assert.deepEqual(states, [
      ["lost", 4_000],
      ["running", 2_000],
      ["returned", 3_000],
      ["failed", 3_500],
    ]);
    assert.deepEqual(record.counts(), { targeted: 0, sent: 0, running: 1, returned: 1, failed: 1, lost: 1 });
    assert.equal(record.noteReturn("a", false, 5_000), true);
    assert.equal(record.noteReturn("a", false, 6_000), false, "the first return counts");
    assert.deepEqual([record.of("a")?.isLate, record.of("a")?.atMs], [true, 5_000]);
  });

  it("gives each missing minion its reason", () => {
    const record = recordOf(["silent", "gone", "unheard", "strange", "running", "idle", "away", "late", "revoked"]);
    record.sentMs = 1_000;
    record.noteAsked(["silent", "gone", "idle"]);
    record.noteIdle("idle");
    record.noteRunning("running", 61_000);
    const contacts = new Map([
      ["silent", 70_000],
      ["gone", 2_000],
      ["idle", 75_000],
      ["running", 61_000],
    ]);
    const sources: ReasonSources = {
      isAccepted: (id) => id !== "revoked",
      keyState: (id) => (id === "revoked" ? "rejected" : undefined),
      isConnected: (id) => (contacts.get(id) ?? 0) > 50_000,
      contactMs: (id) => contacts.get(id),
      isKnown: (id) => id !== "strange",
      waitsUntilMs: (_, id) => (id === "away" ? Date.UTC(2026, 0, 2, 3, 4, 5) : undefined),
      startedMs: 0,
    };
    const silent = record.of("silent");
    assert.equal(
      silent && reasonFor(record, silent, sources, 75_000),
      "connected, last heard 5s ago, asked by find_job whether it runs the job",
    );
    record.noteOver(76_000, (id) => !sources.isConnected(id));
    record.noteReturn("late", false, 91_000);
    const reasons = Object.fromEntries(
      [...record.records()].map((one) => [one.id, reasonFor(record, one, sources, 100_000)]),
    );
    assert.deepEqual(reasons, {
      silent: "connected, last heard 30s ago, but silent: find_job was not answered",
      gone: "not connected, last heard 1m 38s ago",
      unheard: "not connected, not heard since the master started 1m 40s ago",
      strange: "never seen: nothing was heard since its key was accepted",
      running: "still running after 1m 39s, as it said 39s ago",
      idle: "connected, last heard 25s ago: it answered find_job, does not run the job and has not returned",
      away: "not connected, not heard since the master started 1m 40s ago; the job waits for it until 2026-01-02 03:04:05 UTC",
      late: "returned late, 1m 30s after the job was sent",
      revoked: "key not accepted (rejected)",
    });
    assert.equal(keyReason("nobody", sources), "never seen: no key of that name");
  });
});
