/** Batch jobs of a cluster: only a lease makes a master go on with one, and no log is removed that another member needs. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import pino from "pino";
import { Batches } from "../../../src/master/batch-jobs/batches.ts";
import type { BatchSharing, RunningBatch } from "../../../src/master/batch-jobs/sharing.ts";
import type { Job } from "../../../src/master/publish/publisher.ts";
import { BatchLog, listBatches, readBatchSummary } from "../../../src/store/jobs/batch-log.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { Fleet } from "./answering-fleet.ts";

const jid = "20260101000000000000";
const dayMs = 86_400_000;
const times = { timeoutMs: 1_000, gatherTimeoutMs: 1_000 };
const job: Job = {
  ...{ fun: "cmd.run", arg: [], ret: "", user: "root", jid: undefined, isQuiet: false },
  ...{ target: "*", targetKind: "glob", delimiter: ":", load: new Map(), publishFields: new Map() },
};
const running: RunningBatch = {
  ...{ state: "running", minions: 1, absent: 0, queued: 1, running: 0, returned: 0, failed: 0, silent: 0, retcode: 0 },
};

describe("batch jobs of a cluster", () => {
  const temporary = temporaryDirectories();
  const opened: Batches[] = [];
  let directory = "";
  let isCopied = true;
  let states = new Map<string, RunningBatch>();
  const forgotten: string[] = [];
  const asked: string[] = [];

  const sharing: BatchSharing = {
    logs: BatchLog,
    get isCopied() {
      return isCopied;
    },
    states: () => states,
    control: (action, id, user) => {
      asked.push(`${action} ${id} ${user}`);
      return states.has(id) ? Promise.resolve("changed") : undefined;
    },
    forget: (id) => void forgotten.push(id),
  };

  function open(shared: BatchSharing | undefined): Batches {
    const fleet = new Fleet(["a"]);
    const batches = new Batches({
      publish: (job, onAccepted) => fleet.publish(job, onAccepted),
      untilWritten: async () => true,
      newJid: () => fleet.newJid(),
      record: async () => undefined,
      follow: (options) => fleet.follow(options),
      readJob: () => job,
      retcodes: async () => new Map(),
      fire: () => undefined,
      logger: pino({ level: "silent" }),
      ...{ directory, nowMs: Date.now, keepMs: dayMs, sharing: shared },
    });
    opened.push(batches);
    return batches;
  }

  beforeEach(async () => {
    directory = temporary();
    states = new Map();
    isCopied = true;
    const log = BatchLog.create(directory, jid);
    const load = Buffer.from(encode(new Map([["fun", "cmd.run"]]), "bin")).toString("base64");
    log.append({
      ...{ kind: "new", at: 1, jid, user: "root", ping: "p", expected: 1, ...times, size: "1", waitSeconds: 0 },
      ...{ isFailHard: false, canary: 0, failuresMax: "", isStatic: false, load, cluster: "prod" },
    });
    await log.sync();
    log.close();
  });
  afterEach(() => {
    for (const batches of opened.splice(0)) batches.close();
    forgotten.length = 0;
    asked.length = 0;
  });

  it("are not resumed by a start, with and without the cluster", () => {
    states.set(jid, running);
    for (const shared of [sharing, undefined]) {
      const batches = open(shared);
      batches.resume();
      assert.equal(batches.isRunning(jid), false);
    }
  });

  it("keep their logs until it is known which of them go on", () => {
    isCopied = false;
    open(sharing).resume();
    assert.deepEqual([listBatches(directory), forgotten], [[jid], []]);
    isCopied = true;
    states.set(jid, running);
    open(sharing).resume();
    assert.deepEqual([listBatches(directory), forgotten], [[jid], []]);
    states.clear();
    open(sharing).resume();
    assert.deepEqual([listBatches(directory), forgotten], [[], [jid]]);
  });

  it("of other members are listed, and controlled by their owner", async () => {
    states.set(jid, running);
    const batches = open(sharing);
    assert.equal(batches.states().get(jid)?.state, "running");
    assert.equal(await batches.control("pause", jid, "ada"), "changed");
    assert.deepEqual(asked, [`pause ${jid} ada`]);
  });

  it("go on from their log when this member becomes the owner, and rest when it is not any more", () => {
    const batches = open(sharing);
    batches.takeOver(jid);
    assert.equal(batches.isRunning(jid), true);
    batches.release(jid);
    assert.equal(batches.isRunning(jid), false);
    assert.equal(readBatchSummary(directory, jid)?.last.kind, "new", "the log has no end");
  });
});
