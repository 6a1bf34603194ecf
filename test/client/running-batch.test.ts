import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { MasterClient } from "../../src/client/master-client.ts";
import type { RunningBatch } from "../../src/client/running-batch.ts";
import type { Encodable } from "../../src/wire/values.ts";
import { accepted, FakeMaster } from "./fake-master.ts";

const jid = "20260101000000000000";
const step = "20260101000000000001";
const load = { fun: "test.ping", success: true };
type Told = { readonly [name: string]: Encodable };

/** What a batch's log holds; each entry is ten bytes long. */
const log: readonly Told[] = [
  { kind: "new", jid, isStatic: false },
  { kind: "queue", ids: ["a", "b"], absent: [], window: 2 },
  { kind: "start", jid: step, ids: ["a", "b"], at: 1 },
  { kind: "return", jid: step, id: "a", retcode: 0, at: 2, body: { ...load, return: "of a", retcode: 0 } },
  { kind: "return", jid: step, id: "b", retcode: 2, at: 3, body: { ...load, return: "VALUE_TRIMMED", retcode: 2 } },
  { kind: "done", outcome: "finished", culprit: "", retcode: 2 },
].map((entry, index) => ({ ...entry, offset: index * 10, end: index * 10 + 10 }));

describe("RunningBatch", () => {
  let master: FakeMaster;
  let client: MasterClient;
  /** What becomes of an entry on the way. */
  let bodies = (entry: Told): Told => entry;
  /** How many entries the log has by now, and whether the master works on the batch. */
  let written = 0;
  let isKept = true;
  let isRunning = true;
  /** Offsets at which the log was read. */
  const reads: number[] = [];

  before(async () => {
    master = await FakeMaster.start({
      publish: () => accepted(jid, ["a", "b"]),
      wheel: (request) => ({
        data: { return: answer(request.get("fun"), Number(request.get("offset"))), success: true },
      }),
    });
    client = await MasterClient.open(master.config, "root");
  });
  after(async () => {
    client.close();
    await master.stop();
  });
  let running: RunningBatch;
  beforeEach(() => {
    [written, isRunning, isKept] = [0, true, true];
    reads.length = 0;
  });
  afterEach(() => running.close());

  function answer(fun: unknown, offset: number): Encodable {
    if (fun === "saltworks.returns") return !isKept ? {} : { b: { ...load, return: "all of b", retcode: 2 } };
    reads.push(offset);
    return { isRunning, entries: log.slice(offset / 10, written).map(bodies) };
  }

  /** Writes an entry as the master does: into the log, then on the bus. */
  function tell(index: number, isHeard = true): void {
    written = Math.max(written, index + 1);
    if (isHeard) master.fire(`saltworks/batch/${jid}/${String(log[index]?.kind)}`, log[index] ?? {});
  }

  async function readAll(): Promise<unknown[]> {
    const shown: unknown[] = [];
    for await (const { entry, returned } of running.events()) shown.push(returned?.value ?? entry.kind);
    return shown;
  }
  const whole = ["new", "queue", "start", "of a", "all of b", "done"];

  it("shows what has happened before anybody looked, and fetches values that were cut", async () => {
    written = log.length;
    isRunning = false;
    running = await client.followBatch(jid);
    assert.deepEqual(await readAll(), whole);
  });

  it("shows what happens, each entry once, without reading the log for what the bus told", async () => {
    const batch = { size: "2", waitSeconds: 0, isFailHard: false, canary: 0, failuresMax: undefined, isStatic: false };
    const begun = await client.batch({ target: "*", targetKind: "glob", fun: "test.ping", args: [], batch });
    assert.ok(begun);
    running = begun;
    for (const index of log.keys()) tell(index);
    assert.deepEqual(await readAll(), whole);
    assert.ok(reads.length <= 1, `${reads}`);
    const kwargs = master.requests.findLast((request) => request.get("cmd") === "publish")?.get("kwargs");
    assert.ok(kwargs instanceof Map && kwargs.get("batch") instanceof Map);
  });

  it("says so where a return was missed that no job cache keeps", async () => {
    const bare = { ...log[3], body: undefined };
    const kept = log[3];
    [isKept, isRunning] = [false, false];
    assert.ok(kept !== undefined);
    bodies = (entry) => (entry === kept ? bare : entry);
    written = log.length;
    running = await client.followBatch(jid);
    const shown = await readAll().finally(() => {
      bodies = (entry) => entry;
    });
    assert.match(String(shown[3]), /^The minion has returned, but what it returned is not known here/);
    assert.equal(shown[4], "VALUE_TRIMMED");
  });

  it("reads from the log what the bus did not tell", async () => {
    running = await client.followBatch(jid);
    const shown = readAll();
    for (const index of log.keys()) tell(index, index === 1 || index === 5);
    assert.deepEqual(await shown, whole);
  });

  it("says so when the master does not work on it any more", async () => {
    written = 3;
    isRunning = false;
    running = await client.followBatch(jid);
    await assert.rejects(readAll(), {
      code: "MASTER_UNREACHABLE",
      message: /not over, and the master does not run it/,
    });
  });
});
