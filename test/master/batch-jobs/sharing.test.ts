/** Batch jobs of a cluster: only a lease makes a master go on with one, and no log is removed that another member needs. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import pino from "pino";
import { SaltworksError } from "../../../src/errors.ts";
import { Batches } from "../../../src/master/batch-jobs/batches.ts";
import type { BatchSharing, RunningBatch } from "../../../src/master/batch-jobs/sharing.ts";
import type { Job } from "../../../src/master/publish/publisher.ts";
import { BatchLog, listBatches, readBatchEntries, readBatchSummary } from "../../../src/store/jobs/batch-log.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
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

  function open(shared: BatchSharing | undefined, keepMs = dayMs, fleet = new Fleet(["a"])): Batches {
    const batches = new Batches({
      publish: (job, onAccepted) => fleet.publish(job, onAccepted),
      untilWritten: async () => true,
      newJid: () => fleet.newJid(),
      record: async () => undefined,
      follow: (options) => fleet.follow(options),
      readJob: () => job,
      retcodes: async () => new Map(),
      fire: (tag, data) => fleet.fire(tag, data as Map<string, unknown>),
      logger: pino({ level: "silent" }),
      ...{ directory, nowMs: Date.now, keepMs, sharing: shared },
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
    mock.restoreAll();
    mock.timers.reset();
  });
  const kinds = () => readBatchEntries(directory, jid, 0, 1_000_000).map(({ entry }) => entry.kind);

  async function owedAbort(): Promise<Batches> {
    mock.timers.enable({ apis: ["setInterval"] });
    const batches = open(sharing, 0);
    batches.takeOver(jid);
    const filled = mock.method(BatchLog.prototype, "append", () => {
      throw new SaltworksError("STORE_FAILED", "no space left on device");
    });
    await assert.rejects(batches.control("abort", jid, "ann"), { code: "STORE_FAILED" });
    filled.mock.restore();
    assert.equal(batches.owesAbort(jid), true);
    return batches;
  }

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

  it("are aborted where they run by an abort that could not be written before", async () => {
    const batches = await owedAbort();
    batches.takeOver(jid);
    mock.timers.tick(30_000);
    await untilSo("it is over", () => !batches.isRunning(jid));
    assert.equal(batches.owesAbort(jid), false);
    assert.deepEqual(
      kinds().filter((kind) => kind !== "queue"),
      ["new", "restart", "restart", "abort", "done"],
    );
  });

  it("are aborted by their next owner if an abort could not be written before", async () => {
    const batches = await owedAbort();
    states.set(jid, running);
    asked.length = 0;
    mock.timers.tick(30_000);
    await untilSo("it is aborted", () => !batches.owesAbort(jid));
    assert.deepEqual([asked, kinds()], [[`abort ${jid} ann`], ["new", "restart"]]);
  });

  it("go on after a publish that too few members answered", async () => {
    const log = BatchLog.reopen(directory, jid).log;
    log.append({ kind: "queue", ids: ["a"], absent: [], window: 1 });
    log.append({ kind: "start", jid: "20260101000000000009", ids: ["a"], at: 2 });
    await log.sync();
    log.close();
    const fleet = new Fleet(["a"]);
    fleet.answers = { "test.ping": true, "saltutil.find_job": new Map() };
    const publish = fleet.publish.bind(fleet);
    const faults = new Set(["saltutil.find_job", "cmd.run"]);
    mock.method(fleet, "publish", async (...[job, onAccepted]: Parameters<Fleet["publish"]>) => {
      if (!faults.delete(String(job.fun))) return await publish(job, onAccepted);
      onAccepted?.({ jid: job.jid ?? fleet.newJid(), minions: TextList.of(["a"]), missing: [] });
      throw new SaltworksError("CLUSTER_UNAVAILABLE", "too few members answer");
    });
    const batches = open(sharing, 0, fleet);
    batches.takeOver(jid);
    const [step] = await fleet.untilPublished("cmd.run");
    fleet.answer(step?.jid ?? "", "a");
    await untilSo("it is over", () => !batches.isRunning(jid));
    const summary = readBatchSummary(directory, jid)?.last;
    assert.deepEqual(
      [step?.jid, summary?.kind === "done" && [summary.returned, summary.silent]],
      ["20260101000000000009", [1, 0]],
    );
  });

  it("begin no step, and have no end, before the cluster has their log", async () => {
    let confirm: () => void = () => undefined;
    const synced = new Promise<void>((resolve) => {
      confirm = resolve;
    });
    const created = new Promise<BatchLog>((resolve) => {
      mock.method(BatchLog, "create", (...args: Parameters<typeof BatchLog.create>) => {
        const log = BatchLog.reopen(args[0], jid).log;
        mock.method(log, "sync", () => synced);
        resolve(log);
        return log;
      });
    });
    const fleet = new Fleet(["a"]);
    fleet.absent.add("a");
    const batches = open(sharing, 0, fleet);
    const begun = batches.begin(job, new Map([["size", "1"]]), times);
    await created;
    await fleet.untilPublished("test.ping");
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    assert.deepEqual(
      fleet.fired.map(({ tag }) => tag.split("/").at(-1)),
      ["new"],
    );
    confirm();
    await begun;
    assert.equal((await fleet.told("done"))[0]?.outcome, "finished");
  });
});
