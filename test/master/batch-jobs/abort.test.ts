import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import pino from "pino";
import { SaltworksError } from "../../../src/errors.ts";
import { Batches } from "../../../src/master/batch-jobs/batches.ts";
import type { FollowOptions } from "../../../src/master/jobs/followed.ts";
import type { Job, Published } from "../../../src/master/publish/publisher.ts";
import { BatchLog, readBatchSummary } from "../../../src/store/jobs/batch-log.ts";
import { encodeBatchOptions } from "../../../src/wire/batch-options.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const jid = "20260101000000000001";
const options = { size: "1", waitSeconds: 0, isFailHard: false, canary: 0, failuresMax: undefined, isStatic: false };
const fields = decode(encode(encodeBatchOptions(options), "raw")) as ValueMap;
const times = { timeoutMs: 5_000, gatherTimeoutMs: 10_000 };
const load = new Map<Encodable, Encodable>([["fun", "cmd.run"]]);
const rest = { arg: [], targetKind: "glob", delimiter: ":", ret: "", user: "root", jid: undefined };
const job: Job = { ...rest, fun: "cmd.run", target: "*", load, publishFields: new Map(), isQuiet: false };
const full = { code: "STORE_FAILED" };

describe("Batches", () => {
  const makeFolder = temporaryDirectories();
  let directory: string;
  let opened: Batches[];
  beforeEach(() => {
    directory = makeFolder();
    opened = [];
  });
  afterEach(() => {
    mock.restoreAll();
    for (const batches of opened) batches.close();
  });

  /** Batch jobs of a fleet whose minions never answer. */
  function open(changed: Partial<ConstructorParameters<typeof Batches>[0]> = {}): Batches {
    const batches = new Batches({
      publish: async (_, onAccepted) => {
        const published: Published = { jid: "1", minions: TextList.of(["a"]), missing: [] };
        onAccepted?.(published);
        return published;
      },
      untilWritten: async () => true,
      newJid: () => jid,
      record: async () => undefined,
      follow: () => undefined,
      readJob: (_, user) => ({ ...job, user }),
      retcodes: async () => new Map(),
      fire: () => undefined,
      logger: pino({ level: "silent" }),
      directory,
      nowMs: Date.now,
      keepMs: 0,
      ...changed,
    });
    opened.push(batches);
    return batches;
  }

  function fillDisk(method: "append" | "sync") {
    return mock.method(BatchLog.prototype, method, () => {
      throw new SaltworksError("STORE_FAILED", "no space left on device");
    });
  }

  /** The number of batch jobs that the next master continues. */
  function resumed(): number {
    const next = open();
    next.resume();
    return next.runningCount;
  }

  it("are aborted by an operator who tries it again after the disk was full", async () => {
    const batches = open();
    await batches.begin(job, fields, times);
    const filled = fillDisk("append");
    await assert.rejects(batches.control("abort", jid, "ann"), full);
    await assert.rejects(batches.control("abort", jid, "ann"), full, "it is not over");
    filled.mock.restore();
    assert.equal(await batches.control("abort", jid, "ann"), "changed");
    assert.equal(await batches.control("abort", jid, "ann"), "unknown");
    assert.equal(resumed(), 0);
  });

  it("stay aborted at the next start if the abort could be written later", async () => {
    const batches = open();
    await batches.begin(job, fields, times);
    const filled = fillDisk("append");
    await assert.rejects(batches.control("abort", jid, "ann"), full);
    filled.mock.restore();
    batches.close();
    assert.equal(readBatchSummary(directory, jid)?.last.kind, "done");
    assert.equal(resumed(), 0);
  });

  it("do not go on if their client heard that they could not be written", async () => {
    const batches = open();
    const filled = fillDisk("sync");
    await assert.rejects(batches.begin(job, fields, times), full);
    filled.mock.restore();
    batches.close();
    assert.equal(resumed(), 0);
  });

  it("log a write that failed once, and stop", async () => {
    let ping: FollowOptions | undefined;
    const logged: string[] = [];
    const batches = open({
      follow: (options) => {
        ping = options;
      },
      logger: pino({ base: null, timestamp: false }, { write: (line) => void logged.push(JSON.parse(line).msg) }),
    });
    await batches.begin(job, fields, times);
    fillDisk("append");
    ping?.onReturn?.("a", () => encode({ return: true, retcode: 0 }, "bin"));
    ping?.onDone(["a"], new Map());
    // Turns of the event loop in which the step ends, and would log its end again.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(logged, ["a batch job stops after an error"]);
    assert.equal(batches.runningCount, 0);
  });

  it("are begun, paused and aborted only when that is on disk", async () => {
    const batches = open();
    const synced = mock.method(BatchLog.prototype, "sync");
    await batches.begin(job, fields, times);
    assert.equal(synced.mock.callCount(), 1);
    await batches.control("pause", jid, "ann");
    assert.equal(synced.mock.callCount(), 2);
    await batches.control("abort", jid, "ann");
    assert.equal(synced.mock.callCount(), 3);
  });
});
