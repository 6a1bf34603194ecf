import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import pino from "pino";
import { SaltworksError } from "../../../src/errors.ts";
import { batchesRunningMax } from "../../../src/limits.ts";
import { Batches } from "../../../src/master/batch-jobs/batches.ts";
import type { Job } from "../../../src/master/publish/publisher.ts";
import { BatchLog, readBatchEntries } from "../../../src/store/jobs/batch-log.ts";
import { type BatchEntry, type BatchOptions, encodeBatchOptions } from "../../../src/wire/batch-options.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import { Fleet } from "./answering-fleet.ts";

const times = { timeoutMs: 5_000, gatherTimeoutMs: 10_000 };

function jobFor(target: string | readonly string[], fun = "cmd.run"): Job {
  const load = new Map<Encodable, Encodable>([
    ["fun", fun],
    ["tgt", target],
    ["kwargs", new Map([["batch", new Map([["size", "1"]])]])],
  ]);
  const rest = { arg: [], targetKind: "glob", delimiter: ":", ret: "", user: "root", jid: undefined };
  return { ...rest, fun, target, load, publishFields: new Map(), isQuiet: false };
}

const plain: BatchOptions = {
  size: "1",
  waitSeconds: 0,
  isFailHard: false,
  canary: 0,
  failuresMax: undefined,
  isStatic: false,
};

describe("Batches", () => {
  let directory: string;
  let opened: Batches[];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "sw-batches-"));
    opened = [];
  });
  afterEach(() => {
    for (const batches of opened) batches.close();
    rmSync(directory, { recursive: true, force: true });
  });

  function open(fleet: Fleet): Batches {
    const batches = new Batches({
      publish: (job, onAccepted) => fleet.publish(job, onAccepted),
      untilWritten: () => fleet.untilWritten(),
      newJid: () => fleet.newJid(),
      record: async (job, { jid }) => {
        fleet.recorded.set(jid, job);
      },
      follow: (options) => fleet.follow(options),
      readJob: (load, user) => ({ ...jobFor(String(load.get("tgt")), String(load.get("fun"))), user }),
      retcodes: async (jid) => fleet.stored.get(jid) ?? new Map(),
      fire: (tag, data) => fleet.fire(tag, data as ReadonlyMap<string, unknown>),
      logger: pino({ level: "silent" }),
      directory,
      nowMs: Date.now,
      keepMs: 0,
    });
    opened.push(batches);
    return batches;
  }

  function begin(batches: Batches, options: Partial<BatchOptions> = {}, target: string | string[] = "*") {
    const fields = decode(encode(encodeBatchOptions({ ...plain, ...options }), "raw")) as ValueMap;
    return batches.begin(jobFor(target), fields, times);
  }

  it("begin with a ping, then send each step as a job of its own to a list", async () => {
    const fleet = new Fleet(["b", "a", "c"]);
    fleet.absent.add("c");
    const batches = open(fleet);
    const published = await begin(batches);
    const [queue] = await fleet.told("queue");
    assert.deepEqual([queue?.ids, queue?.absent, queue?.window], [["a", "b"], ["c"], 1]);
    const [first] = await fleet.untilPublished("cmd.run");
    assert.deepEqual([first?.job.target, first?.job.targetKind], [["a"], "list"]);
    assert.equal(first?.job.load.get("batch"), published?.jid);
    assert.deepEqual(first?.job.load.get("kwargs"), new Map());
    assert.deepEqual([...fleet.recorded.keys()], [published?.jid]);
    fleet.answer(first?.jid ?? "", "a", 3);
    const [, second] = await fleet.untilPublished("cmd.run", 2);
    assert.notEqual(second?.jid, first?.jid);
    fleet.giveUp(second?.jid ?? "");
    const [done] = await fleet.told("done");
    assert.deepEqual([done?.outcome, done?.retcode, done?.silent, done?.absent], ["finished", 3, 1, 1]);
    assert.equal(batches.runningCount, 0);
  });

  it("tell on the bus what the log holds, each entry with its place", async () => {
    const fleet = new Fleet(["a"]);
    const published = await begin(open(fleet));
    const [step] = await fleet.untilPublished("cmd.run");
    await fleet.told("sent");
    fleet.answer(step?.jid ?? "", "a");
    await fleet.told("done");
    const logged = readBatchEntries(directory, published?.jid ?? "", 0, 1_000_000);
    assert.deepEqual(
      fleet.fired.map(({ data }) => [data.get("kind"), data.get("offset"), data.get("end")]),
      logged.map(({ entry, offset, end }) => [entry.kind, offset, end]),
    );
    assert.ok(!fleet.fired.some(({ data }) => data.has("load")));
  });

  it("write a step down before they send it", async () => {
    const fleet = new Fleet(["a"]);
    const published = fleet.publish.bind(fleet);
    let logged = "";
    fleet.publish = (job, onAccepted) => {
      if (job.fun === "cmd.run") logged = readFileSync(join(directory, `${[...fleet.recorded.keys()][0]}.log`), "utf8");
      return published(job, onAccepted);
    };
    await begin(open(fleet));
    await fleet.untilPublished("cmd.run");
    assert.match(logged, /"kind":"start"/);
    assert.doesNotMatch(logged, /"kind":"sent"/);
  });

  it("write down that a step was sent only when the kernel has it, and not if that is not known", async () => {
    const fleet = new Fleet(["a", "b"]);
    let answer: (isWritten: boolean) => void = () => undefined;
    const asked = new Promise<boolean>((resolve) => {
      answer = resolve;
    });
    fleet.untilWritten = () => asked;
    const published = await begin(open(fleet));
    const kinds = () => readBatchEntries(directory, published?.jid ?? "", 0, 1_000_000).map(({ entry }) => entry.kind);
    const [first] = await fleet.untilPublished("cmd.run");
    assert.deepEqual(kinds(), ["new", "queue", "start"]);
    fleet.untilWritten = async () => false;
    answer(true);
    await fleet.told("sent");
    fleet.answer(first?.jid ?? "", "a");
    const [, second] = await fleet.untilPublished("cmd.run", 2);
    fleet.answer(second?.jid ?? "", "b");
    await fleet.told("done");
    assert.deepEqual(kinds(), ["new", "queue", "start", "sent", "return", "start", "return", "done"]);
  });

  it("try again a step that could not be published, and count no minion as silent for it", async () => {
    const fleet = new Fleet(["a", "b"]);
    fleet.failing = 2;
    await begin(open(fleet));
    const [step] = await fleet.untilPublished("cmd.run");
    assert.deepEqual(step?.job.target, ["a"]);
    assert.deepEqual(
      (await fleet.told("start")).map(({ jid, ids }) => [jid, ids]),
      [[step?.jid, ["a"]]],
    );
    await fleet.told("sent");
    fleet.answer(step?.jid ?? "", "a");
    const [, second] = await fleet.untilPublished("cmd.run", 2);
    fleet.answer(second?.jid ?? "", "b");
    const [done] = await fleet.told("done");
    assert.deepEqual([done?.outcome, done?.returned, done?.silent], ["finished", 2, 0]);
  });

  it("do not send a step that could not be published before the batch job was aborted", async () => {
    const fleet = new Fleet(["a", "b"]);
    fleet.failing = 100;
    const batches = open(fleet);
    const published = await begin(batches);
    await fleet.told("start");
    assert.equal(await batches.control("abort", published?.jid ?? "", "ann"), "changed");
    const [done] = await fleet.told("done");
    assert.deepEqual([done?.outcome, done?.silent, done?.queued], ["aborted", 1, 1]);
    assert.deepEqual(await fleet.untilPublished("cmd.run", 0), []);
  });

  it("take the order of a list, so that the operator chooses the canary", async () => {
    const fleet = new Fleet(["a", "b", "c"]);
    await begin(open(fleet), { canary: 1, size: "2" }, ["c", "a", "b"]);
    const [step] = await fleet.untilPublished("cmd.run");
    assert.deepEqual(step?.job.target, ["c"]);
    fleet.answer(step?.jid ?? "", "c", 1);
    const [done] = await fleet.told("done");
    assert.deepEqual([done?.outcome, done?.culprit, done?.queued], ["canary", "c", 2]);
  });

  it("let a minion join that answers the ping late", async () => {
    const fleet = new Fleet(["a", "b"]);
    fleet.absent.add("b");
    await begin(open(fleet));
    const [step] = await fleet.untilPublished("cmd.run");
    fleet.answer(fleet.published[0]?.jid ?? "", "b");
    await fleet.told("late");
    fleet.answer(step?.jid ?? "", "a");
    const [, second] = await fleet.untilPublished("cmd.run", 2);
    assert.deepEqual(second?.job.target, ["b"]);
  });

  it("are paused, resumed and aborted by job id, and report what cannot be done", async () => {
    const fleet = new Fleet(["a", "b", "c"]);
    const batches = open(fleet);
    const jid = (await begin(batches))?.jid ?? "";
    const [step] = await fleet.untilPublished("cmd.run");
    assert.equal(await batches.control("resume", jid, "ann"), "running");
    assert.equal(await batches.control("pause", jid, "ann"), "changed");
    assert.equal(await batches.control("pause", jid, "ann"), "paused");
    fleet.answer(step?.jid ?? "", "a");
    assert.equal(batches.states().get(jid)?.queued, 2);
    assert.equal(await batches.control("resume", jid, "ann"), "changed");
    await fleet.untilPublished("cmd.run", 2);
    assert.equal(await batches.control("abort", jid, "ann"), "changed");
    assert.equal(await batches.control("pause", jid, "ann"), "stopping");
    fleet.answer(fleet.published.at(-1)?.jid ?? "", "b");
    const [done] = await fleet.told("done");
    assert.deepEqual([done?.outcome, done?.culprit, done?.queued], ["aborted", "ann", 1]);
    assert.equal(await batches.control("abort", jid, "ann"), "unknown");
  });

  it("send nothing to a target that expects no minion, and keep nothing of it", async () => {
    const fleet = new Fleet(["a"]);
    const batches = open(fleet);
    assert.equal(await begin(batches, {}, ["nobody"]), undefined);
    assert.deepEqual([batches.runningCount, fleet.recorded.size], [0, 0]);
  });

  it("are refused beyond their number, and with options that make none", async () => {
    const fleet = new Fleet(["a"]);
    const batches = open(fleet);
    await assert.rejects(begin(batches, { size: "0" }), { code: "FUNCTION_ARGUMENTS" });
    for (let count = 0; count < batchesRunningMax; count += 1) await begin(batches);
    await assert.rejects(begin(batches), { code: "QUEUE_FULL" });
    assert.deepEqual([batches.runningCount, batches.counters.refused], [batchesRunningMax, 1]);
  });

  describe("of a master that was killed", () => {
    const stepJid = "20260101000000000500";
    const batchJid = "20260101000000000400";

    /** The state that such a master left: `a` had returned, `b` and `c` were under way, `d` had not begun. */
    function leave(isSent: boolean): void {
      const log = BatchLog.create(directory, batchJid);
      const load = Buffer.from(encode(new Map([...jobFor("*").load]), "bin")).toString("base64");
      const head = { at: 1, jid: batchJid, user: "root", ping: "1", expected: 4, ...times, size: "2", load };
      const entries: BatchEntry[] = [
        { kind: "new", ...head, waitSeconds: 0, isFailHard: false, canary: 0, failuresMax: "", isStatic: false },
        { kind: "queue", ids: ["a", "b", "c", "d"], absent: [], window: 2 },
        { kind: "start", jid: stepJid, ids: ["a", "b", "c"], at: 2 },
        ...(isSent ? [{ kind: "sent", jid: stepJid } as const] : []),
        { kind: "return", jid: stepJid, id: "a", retcode: 0, at: 3 },
      ];
      for (const entry of entries) log.append(entry);
      log.close();
    }

    it("go on: they know minions that returned meanwhile, and follow the others of a sent step without sending it again", async () => {
      leave(true);
      const fleet = new Fleet(["a", "b", "c", "d"]);
      fleet.stored.set(stepJid, new Map([["b", 2]]));
      const batches = open(fleet);
      batches.resume();
      const [, found] = await Promise.all([fleet.told("restart"), fleet.told("return")]);
      assert.deepEqual([found[0]?.id, found[0]?.retcode], ["b", 2]);
      assert.deepEqual((await fleet.untilFollowed(stepJid)).minions.texts(), ["c"]);
      const [next] = await fleet.untilPublished("cmd.run");
      assert.deepEqual(next?.job.target, ["d"]);
      fleet.answer(stepJid, "c");
      fleet.answer(next?.jid ?? "", "d");
      const [done] = await fleet.told("done");
      assert.deepEqual([done?.outcome, done?.retcode, done?.returned], ["finished", 2, 4]);
      assert.equal(fleet.published.filter(({ job }) => job.fun === "cmd.run").length, 1);
    });

    it("send a step again, under the same job id, only if it may not have been sent, and only to minions that answer that they do not run it", async () => {
      leave(false);
      const fleet = new Fleet(["a", "b", "c", "d"]);
      fleet.answers = { "test.ping": true };
      const batches = open(fleet);
      batches.resume();
      const [question] = await fleet.untilPublished("saltutil.find_job");
      assert.deepEqual([question?.job.target, question?.job.arg], [["b", "c"], [stepJid]]);
      fleet.answer(question?.jid ?? "", "b", 0, {});
      fleet.answer(question?.jid ?? "", "c", 0, { jid: stepJid, pid: 7 });
      const [again] = await fleet.untilPublished("cmd.run");
      assert.deepEqual([again?.jid, again?.job.target, again?.job.isQuiet], [stepJid, ["b"], true]);
      // The step waits for both minions: the one that got it again and the one that runs it.
      fleet.answer(stepJid, "c");
      fleet.answer(stepJid, "b");
      const [, next] = await fleet.untilPublished("cmd.run", 2);
      fleet.answer(next?.jid ?? "", "d");
      const [done] = await fleet.told("done");
      assert.deepEqual([done?.outcome, done?.returned], ["finished", 4]);
    });

    it("wait while too few members of a cluster answer", async () => {
      leave(true);
      const fleet = new Fleet(["a", "b", "c", "d"]);
      const publish = fleet.publish.bind(fleet);
      let refusals = 1;
      fleet.publish = async (...asked) => {
        refusals -= 1;
        if (refusals >= 0) throw new SaltworksError("CLUSTER_UNAVAILABLE", "too few members answer");
        return await publish(...asked);
      };
      const batches = open(fleet);
      batches.resume();
      await fleet.untilPublished("test.ping");
      await fleet.untilFollowed(stepJid);
      assert.equal(batches.runningCount, 1);
    });

    it("stay as they are once they are over", async () => {
      leave(true);
      const fleet = new Fleet(["a", "b", "c", "d"]);
      const { log } = BatchLog.reopen(directory, batchJid);
      const counts = { minions: 4, absent: 0, queued: 1, running: 0, returned: 3, failed: 0, silent: 0, retcode: 0 };
      log.append({ kind: "done", at: 9, outcome: "aborted", culprit: "ann", ...counts });
      log.close();
      const batches = open(fleet);
      batches.resume();
      assert.deepEqual([batches.runningCount, fleet.published.length], [0, 0]);
    });
  });
});
