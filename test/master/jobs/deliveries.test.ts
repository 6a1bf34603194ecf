import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { SaltworksError } from "../../../src/errors.ts";
import { deliveryAsksMax, deliveryTriesMax, deliveryUnansweredMs, pendingMinionsMax } from "../../../src/limits.ts";
import { Deliveries } from "../../../src/master/jobs/deliveries.ts";
import { MinionNumbers } from "../../../src/master/jobs/minion-numbers.ts";
import { PendingJob } from "../../../src/master/jobs/pending-job.ts";
import { openPendingJobs, type PendingJobRecord, type PendingJobs } from "../../../src/store/jobs/pending-jobs.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const waitTimeoutMs = 30_000;
/** Longer than any `settleMs`. */
const settledMs = 20_000;
const hourMs = 3_600_000;

/** Simulates minions, job cache and publish port; the test moves the clock. */
class World {
  ms = 1_000_000;
  /** Milliseconds by which the wall clock was set. */
  setByMs = 0;
  readonly answers = new Map<string, "idle" | "running" | "faulty">();
  readonly returned = new Set<string>();
  readonly connected = new Set<string>();
  readonly asked: string[][] = [];
  readonly sent: string[][] = [];
  /** Minions for which the publisher no longer has a grant. */
  readonly withdrawn = new Set<string>();
  /** Minions with too little known data. */
  readonly unknown = new Set<string>();
  send = async (): Promise<void> => undefined;
}

const record = (minions: string[], more: Partial<PendingJobRecord> = {}): PendingJobRecord => ({
  jid: "20260101000000000000",
  fields: new Map<string, string | string[]>([
    ["fun", "cmd.run"],
    ["arg", ["true"]],
  ]),
  minions,
  publishedMs: 1_000_000,
  deadlineMs: 1_000_000 + hourMs,
  ...more,
});
const { jid } = record([]);

async function until(what: string, condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + waitTimeoutMs;
  while (!condition()) {
    assert.ok(performance.now() < deadlineMs, what);
    await wait(10);
  }
}

describe("Deliveries", () => {
  const makeFolder = temporaryDirectories();
  let folder = "";
  let isKilled = false;
  let world: World;
  let deliveries: Deliveries;
  let isFull = false;

  /** After a kill nothing more is written. */
  function mortal(store: PendingJobs): PendingJobs {
    return {
      ...store,
      putMarks: async (jobId, marks) => (isKilled ? undefined : store.putMarks(jobId, marks)),
      remove: async (jobId) => {
        if (isFull) throw new SaltworksError("STORE_FAILED", "the disk is full");
        if (!isKilled) await store.remove(jobId);
      },
    };
  }

  function open(): Deliveries {
    isKilled = false;
    return Deliveries.open({
      store: mortal(openPendingJobs(join(folder, "pending"))),
      numbers: new MinionNumbers(),
      send: async (_, ids) => {
        await world.send();
        world.sent.push([...ids].sort());
      },
      stillGranted: async (_, ids) => ({
        granted: ids.filter((id) => !world.withdrawn.has(id) && !world.unknown.has(id)),
        undecided: ids.filter((id) => world.unknown.has(id)),
      }),
      askRunning: async (_, ids, _timeoutMs, onAnswer) => {
        world.asked.push([...ids].sort());
        for (const id of ids) {
          const answer = world.answers.get(id);
          if (answer !== undefined) onAnswer({ id, runsStill: answer === "running", isFault: answer === "faulty" });
        }
      },
      whoReturned: async (_, ids) => ids.filter((id) => world.returned.has(id)),
      isAccepted: () => true,
      isConnected: (id) => world.connected.has(id),
      gatherTimeoutMs: 1_000,
      onFault: (error) => assert.match(error.message, /crash|closed|full/),
      now: () => world.ms + world.setByMs,
      steadyMs: () => world.ms,
      bootMs: () => world.ms,
    });
  }

  /** Acts like kill -9 and another master that takes over. */
  async function crash(): Promise<void> {
    isKilled = true;
    await deliveries.close();
    deliveries = open();
  }

  beforeEach(() => {
    folder = makeFolder();
    isFull = false;
    world = new World();
    deliveries = open();
  });
  afterEach(() => deliveries.close());

  it("sends nothing to a minion for which the publisher's grant is gone, and keeps nothing for it", async () => {
    await deliveries.keep(record(["a", "b"]));
    for (const id of ["a", "b"]) world.answers.set(id, "idle");
    world.withdrawn.add("a");
    for (const id of ["a", "b"]) deliveries.noteAppearance(id, "start");
    world.ms += settledMs;
    await until("b has it", () => world.sent.length > 0);
    assert.deepEqual(world.sent, [["b"]]);
    assert.equal(deliveries.counters.withdrawn, 1);
    assert.deepEqual(deliveries.job(jid)?.left(), ["b"]);
  });

  it("asks again for a minion of which too little is known to say whether it is within the publisher's grant", async () => {
    await deliveries.keep(record(["a"]));
    world.answers.set("a", "idle");
    world.unknown.add("a");
    deliveries.noteAppearance("a", "start");
    world.ms += settledMs;
    await until("it is asked", () => world.asked.length > 0);
    await until("it is to be asked again", () => deliveries.dueCount > 0);
    assert.deepEqual([world.sent, deliveries.job(jid)?.left()], [[], ["a"]]);
    world.unknown.clear();
    world.ms += settledMs;
    await until("a has it", () => world.sent.length > 0);
    assert.equal(deliveries.counters.withdrawn, 0);
  });

  it("sends a job to a minion that has started and does not run it, once for each time that it appears", async () => {
    await deliveries.keep(record(["a", "b"]));
    world.answers.set("a", "idle");
    deliveries.noteAppearance("a", "auth");
    deliveries.noteAppearance("a", "start");
    deliveries.noteContact("a");
    world.ms += settledMs;
    await until("a has it", () => world.sent.length === 1);
    assert.deepEqual([world.asked, world.sent], [[["a"]], [["a"]]]);
    world.ms += settledMs;
    deliveries.noteContact("a");
    assert.deepEqual([deliveries.dueCount, world.sent.length], [0, 1], "it has not appeared again");
    deliveries.noteAppearance("a", "start");
    world.ms += settledMs;
    await until("a has it again", () => world.sent.length === 2);
    assert.equal(deliveries.job(jid)?.tries("a"), 2);
  });

  it("sends a job that it takes over to a minion that comes right after", async () => {
    await deliveries.adopt({ record: record(["a"]), marks: new Uint8Array(1) });
    const job = deliveries.job(jid) ?? assert.fail("it is not kept");
    world.answers.set("a", "idle");
    await deliveries.takeOver(job);
    world.connected.add("a");
    deliveries.noteContact("a");
    world.ms += settledMs;
    await until("a has it", () => world.sent.length > 0);
    assert.deepEqual(world.sent, [["a"]]);
  });

  it("forgets a job in whose place another comes under the same job id", async () => {
    await deliveries.keep(record(["a", "b"]));
    deliveries.noteReturn(jid, "a");
    deliveries.scan();
    await deliveries.keep(record(["a", "c"]));
    assert.deepEqual([deliveries.jobCount, deliveries.minionCount], [1, 2]);
    await crash();
    await until("all is read back", () => deliveries.job(jid) !== undefined);
    assert.deepEqual(deliveries.job(jid)?.left(), ["a", "c"]);
  });

  it("asks the job cache first, and minions that have returned not at all", async () => {
    await deliveries.keep(record(["a", "b"]));
    world.returned.add("a");
    deliveries.noteAppearance("a", "start");
    world.ms += settledMs;
    await until("a is settled", () => deliveries.job(jid)?.leftCount === 1);
    assert.deepEqual(world.asked, []);
  });

  it("does not send to a minion that runs it, and gives up asking one that stays silent", async () => {
    await deliveries.keep(record(["busy", "mute"]));
    world.answers.set("busy", "running");
    for (const id of ["busy", "mute"]) deliveries.noteAppearance(id, "start");
    for (let turn = 1; turn <= deliveryAsksMax; turn += 1) {
      world.ms += settledMs;
      await until(`question ${turn}`, () => world.asked.length === turn);
    }
    await until("no minion is to be asked", () => deliveries.dueCount === 0);
    assert.deepEqual(world.asked, [["busy", "mute"], ["mute"], ["mute"]]);
    assert.deepEqual(world.sent, []);
  });

  it("asks a minion that stayed silent and connected again after some time", async () => {
    await deliveries.keep(record(["busy", "gone"]));
    world.connected.add("busy");
    deliveries.watch(jid, ["busy", "gone"]);
    world.ms += deliveryUnansweredMs;
    deliveries.scan();
    for (let turn = 1; turn <= deliveryAsksMax; turn += 1) {
      world.ms += settledMs;
      await until(`question ${turn}`, () => world.asked.length === turn);
    }
    await until("no minion is to be asked", () => deliveries.dueCount === 0);
    deliveries.scan();
    assert.equal(deliveries.dueCount, 0);
    world.answers.set("busy", "idle");
    world.ms += deliveryUnansweredMs;
    deliveries.scan();
    world.ms += settledMs;
    await until("it has the job", () => world.sent.length === 1);
    assert.deepEqual([world.asked.length, world.sent], [deliveryAsksMax + 1, [["busy"]]]);
  });

  it("takes any sign of life of an absent minion for its coming back, and none of a connected one", async () => {
    world.connected.add("there");
    await deliveries.keep(record(["there", "away"]));
    world.answers.set("there", "idle").set("away", "idle");
    deliveries.scan();
    for (const id of ["there", "away"]) deliveries.noteContact(id);
    world.ms += settledMs;
    await until("a minion has it", () => world.sent.length === 1);
    assert.deepEqual(world.sent, [["away"]]);
    deliveries.watch(jid, ["there"]);
    deliveries.noteContact("there");
    world.ms += settledMs;
    await until("the other has it", () => world.sent.length === 2);
  });

  it("asks a minion in the end although the master had more faults than a minion is asked, and counts no try for them", async () => {
    await deliveries.keep(record(["a"]));
    world.answers.set("a", "idle");
    let faults = 0;
    world.send = () => {
      faults += 1;
      return Promise.reject(new Error("crash"));
    };
    deliveries.noteAppearance("a", "start");
    for (let turn = 1; turn <= deliveryAsksMax + 1; turn += 1) {
      world.ms += settledMs;
      await until(`fault ${turn} of a publish`, () => faults === turn && deliveries.dueCount === 1);
    }
    assert.equal(deliveries.job(jid)?.tries("a"), 0);
    world.send = async () => undefined;
    world.ms += settledMs;
    await until("a has it", () => world.sent.length === 1);
  });

  it("counts a try before the job leaves: after a crash in between the minion is asked again, and only then sent to", async () => {
    await deliveries.keep(record(["a"]));
    world.answers.set("a", "idle");
    let isCrashing = false;
    world.send = () => {
      isCrashing = true;
      return Promise.reject(new Error("crash"));
    };
    deliveries.noteAppearance("a", "start");
    world.ms += settledMs;
    await until("the job is about to leave", () => isCrashing);
    await crash();
    world.send = async () => undefined;
    assert.equal(deliveries.job(jid)?.tries("a"), 1, "the try was on disk");
    deliveries.noteAppearance("a", "contact");
    world.ms += settledMs;
    await until("a has it", () => world.sent.length === 1);
    assert.equal(world.asked.length, 2);
  });

  it("sends nothing again after a crash right behind the sending, if the minion has returned or runs it", async () => {
    await deliveries.keep(record(["done", "busy"]));
    world.answers.set("done", "idle").set("busy", "idle");
    for (const id of ["done", "busy"]) deliveries.noteAppearance(id, "start");
    world.ms += settledMs;
    await until("both have it", () => world.sent.flat().length === 2);
    world.returned.add("done");
    world.answers.set("busy", "running");
    await crash();
    await until("the cache was asked", () => deliveries.job(jid)?.leftCount === 1);
    for (const id of ["done", "busy"]) deliveries.noteAppearance(id, "contact");
    world.ms += settledMs;
    await until("busy was asked", () => world.asked.at(-1)?.[0] === "busy" && deliveries.counters.foundRunning === 1);
    assert.equal(world.sent.flat().length, 2);
  });

  it("sends a job to a minion that is heard right after the master's start, before any scan", async () => {
    await deliveries.keep(record(["a"]));
    await crash();
    world.answers.set("a", "idle");
    world.connected.add("a");
    deliveries.noteContact("a");
    deliveries.scan();
    world.ms += settledMs;
    await until("a has it", () => world.sent.length === 1);
  });

  it("asks a connected minion that does not return what was sent to it, or could not answer, and sends unless it runs", async () => {
    const ids = ["busy", "faulty", "lost"];
    await deliveries.keep(record(ids));
    world.answers.set("busy", "idle").set("faulty", "faulty").set("lost", "idle");
    for (const id of ids) deliveries.noteAppearance(id, "start");
    world.ms += settledMs;
    await until("two were sent to", () => world.sent.flat().length === 2);
    for (const id of ids) world.connected.add(id);
    world.answers.set("busy", "running").set("faulty", "idle");
    deliveries.scan();
    assert.equal(deliveries.dueCount, 0, "not at once");
    world.ms += deliveryUnansweredMs;
    deliveries.scan();
    world.ms += settledMs;
    await until("two are sent to again", () => world.sent.flat().length === 4);
    assert.deepEqual([world.sent.at(-1), deliveries.counters.foundRunning], [["faulty", "lost"], 1]);
  });

  it("lives until its deadline, though the clock is set", async () => {
    for (const setByMs of [24 * hourMs, -24 * hourMs]) {
      const endsAtMs = world.ms + world.setByMs + hourMs;
      await deliveries.keep(record(["a"], { jid: `job${setByMs}`, deadlineMs: endsAtMs }));
      world.setByMs += setByMs;
      world.ms += hourMs - 1;
      deliveries.scan();
      assert.equal(deliveries.jobCount, 1);
      world.ms += 1;
      deliveries.scan();
      await until("it is over", () => deliveries.jobCount === 0);
    }
  });

  it("ends with the last return, at the deadline, when it is withdrawn, and when a key goes", async () => {
    await deliveries.keep(record(["a", "b", "c"]));
    deliveries.noteReturn(jid, "a");
    // A reported withdrawal is on disk, and so is what was recorded before it.
    assert.deepEqual(await deliveries.cancel(jid, "b"), ["b"]);
    assert.deepEqual(await deliveries.cancel(jid, "b"), [], "once is enough");
    await crash();
    assert.deepEqual(deliveries.job(jid)?.left(), ["c"], "both are remembered");
    deliveries.forget("c");
    await until("it is gone", () => deliveries.jobCount === 0);
    assert.equal(await deliveries.cancel(jid), undefined);
    await deliveries.keep(record(["a"]));
    world.ms += hourMs;
    deliveries.scan();
    await until("it is over", () => deliveries.jobCount === 0);
    assert.equal(deliveries.counters.expired, 1);
    await crash();
    assert.equal(deliveries.jobCount, 0, "nothing comes back");
  });

  it("ends a job of which the store could not be rid at first: by a second cancel, by the next scan, and under its id again", async () => {
    const full = { code: "STORE_FAILED" };
    await deliveries.keep(record(["a"]));
    isFull = true;
    await assert.rejects(deliveries.cancel(jid), full);
    await assert.rejects(deliveries.cancel(jid), full, "it is not gone");
    isFull = false;
    await deliveries.cancel(jid);
    await crash();
    assert.equal(deliveries.jobCount, 0, "cancelled for good");
    await deliveries.keep(record(["a"]));
    isFull = true;
    deliveries.forget("a");
    await assert.rejects(deliveries.keep(record(["b"])), full);
    assert.deepEqual(deliveries.job(jid)?.record.minions, ["a"], "the former one is still listed");
    isFull = false;
    deliveries.scan();
    await until("the scan has ended it", () => deliveries.jobCount === 0);
    await crash();
    assert.equal(deliveries.jobCount, 0, "forgotten for good");
  });

  it("keeps no more jobs than it may", async () => {
    const minions = new Array<string>(pendingMinionsMax + 1).fill("a");
    await assert.rejects(deliveries.keep(record(minions)), { code: "QUEUE_FULL" });
    assert.deepEqual([deliveries.counters.refused, deliveries.jobCount], [1, 0]);
  });

  it("sends one job to one minion a bounded number of times", () => {
    const job = new PendingJob({ record: record(["a"]), marks: new Uint8Array(1) }, new MinionNumbers());
    for (let tried = 0; tried < deliveryTriesMax; tried += 1) assert.equal(job.countTry("a"), true);
    assert.equal(job.countTry("a"), false);
    assert.equal(job.leftCount, 0);
  });
});
