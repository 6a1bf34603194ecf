/** Jobs of the cluster that a full disk refused: they are stored once it has room, in their order, and not without a bound. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { SaltworksError } from "../../../src/errors.ts";
import {
  refusedLoadsBytesMax,
  refusedLoadsEndMs,
  refusedLoadTriesMax,
  refusedPartsRetryMs,
} from "../../../src/limits.ts";
import { RefusedLoads } from "../../../src/master/publish/refused-loads.ts";
import { TextList } from "../../../src/wire/text-list.ts";

const full = new SaltworksError("STORE_FAILED", "no space left on device");

describe("jobs that the store refused", () => {
  let isFull: boolean;
  /** Why the store takes one job not, by job id. */
  let faults: Map<string, Error>;
  let stored: string[];
  let texts: string[];
  let refused: RefusedLoads;
  let wasAsked: () => void;

  const load = (jid: string, bytes: Uint8Array = Buffer.from(jid)) => ({
    ...{ jid, load: bytes, minions: TextList.of(["web1"]), missing: [], isReturnless: false },
  });
  /** Lets the next try come. Resolves when the store has answered it. */
  const tryAgain = async () => {
    const asked = new Promise<void>((resolve) => {
      wasAsked = resolve;
    });
    mock.timers.tick(refusedPartsRetryMs);
    await asked;
    await new Promise((resolve) => setImmediate(resolve));
  };

  beforeEach(() => {
    mock.timers.enable({ apis: ["setTimeout"] });
    [isFull, stored, texts, faults, wasAsked] = [true, [], [], new Map(), () => undefined];
    refused = new RefusedLoads({
      store: async (job) => {
        wasAsked();
        if (isFull) throw full;
        const fault = faults.get(job.jid);
        if (fault !== undefined) throw fault;
        stored.push(`${job.jid} ${Buffer.from(job.load)} ${job.minions.texts()}`);
      },
      logger: {
        error: (_: unknown, text?: string) => void texts.push(String(text)),
        info: (_: unknown, text?: string) => void texts.push(String(text)),
      },
    });
  });
  afterEach(async () => {
    await refused.close();
    mock.timers.reset();
  });

  it("are stored later, in their order, with the bytes that they had", async () => {
    const bytes = Buffer.from("one");
    void refused.add(load("1", bytes), full);
    bytes.fill(0);
    void refused.add(load("2"), full);
    await tryAgain();
    assert.deepEqual(stored, []);
    isFull = false;
    await tryAgain();
    assert.deepEqual(stored, ["1 one web1", "2 2 web1"]);
    assert.match(texts.at(-1) ?? "", /are stored/);
  });

  it("are given up beyond a bound", async () => {
    void refused.add(load("1", Buffer.alloc(refusedLoadsBytesMax - 64)), full);
    void refused.add(load("2", Buffer.alloc(128)), full);
    assert.match(texts[0] ?? "", /tries again/);
    assert.match(texts[1] ?? "", /many wait/);
    assert.equal(refused.lost, 1);
    isFull = false;
    await tryAgain();
    assert.equal(stored.length, 1);
  });

  it("are stored when the master stops, and say so to the reader of the sequence", async () => {
    const waiting = refused.add(load("1"), full);
    isFull = false;
    await refused.close();
    assert.deepEqual(stored, ["1 1 web1"]);
    await waiting;
  });

  it("are counted in the log if the disk is full until the end, and no further try is planned", async () => {
    let asked = 0;
    void refused.add(load("1"), full);
    void refused.add(load("2"), full);
    wasAsked = () => {
      asked += 1;
    };
    mock.timers.tick(refusedPartsRetryMs);
    // A try is under way.
    await refused.close();
    assert.equal(asked, 2, "the try under way and the last one");
    assert.match(texts.at(-1) ?? "", /are not stored: this member reads them again after its next start/);
    mock.timers.tick(3 * refusedPartsRetryMs);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(asked, 2);
  });

  it("do not keep a master whose store does not answer from its end, and are not given up then", async () => {
    let fail: (error: Error) => void = () => undefined;
    const hanging = new RefusedLoads({
      store: () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
      logger: { error: () => undefined, info: () => undefined },
    });
    let isOver = false;
    void hanging.add(load("1"), full)?.then(() => {
      isOver = true;
    });
    const closed = hanging.close();
    await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(refusedLoadsEndMs);
    await closed;
    fail(new SaltworksError("CHANNEL_CLOSED", "the workers are gone"));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([isOver, hanging.lost], [false, 0]);
  });

  it("do not wait for one that fails for another reason, which is logged and given up after some tries", async () => {
    const first = refused.add(load("1"), full);
    void refused.add(load("2"), full);
    isFull = false;
    faults.set("1", new TypeError("a bug"));
    await tryAgain();
    assert.deepEqual(stored, ["2 2 web1"]);
    assert.ok(texts.includes("jobs of the cluster could not be stored again"), texts.join("; "));
    for (let count = 1; count < refusedLoadTriesMax; count += 1) await tryAgain();
    await first;
    assert.equal(refused.lost, 1);
    assert.ok(texts.some((text) => text.includes("given up")));
  });
});
