/** Jobs of the cluster that a full disk refused: they are stored once it has room, in their order, and not without a bound. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { refusedLoadsBytesMax, refusedPartsRetryMs } from "../../../src/limits.ts";
import { RefusedLoads } from "../../../src/master/publish/refused-loads.ts";
import { TextList } from "../../../src/wire/text-list.ts";

const full = new Error("no space left on device");

describe("jobs that the store refused", () => {
  let isFull: boolean;
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
    [isFull, stored, texts] = [true, [], []];
    refused = new RefusedLoads({
      store: async (job) => {
        wasAsked();
        if (isFull) throw full;
        stored.push(`${job.jid} ${Buffer.from(job.load)} ${job.minions.texts()}`);
      },
      logger: {
        error: (_: unknown, text?: string) => void texts.push(String(text)),
        info: (_: unknown, text?: string) => void texts.push(String(text)),
      },
    });
  });
  afterEach(() => {
    refused.close();
    mock.timers.reset();
  });

  it("are stored later, in their order, with the bytes that they had", async () => {
    const bytes = Buffer.from("one");
    refused.add(load("1", bytes), full);
    bytes.fill(0);
    refused.add(load("2"), full);
    await tryAgain();
    assert.deepEqual(stored, []);
    isFull = false;
    await tryAgain();
    assert.deepEqual(stored, ["1 one web1", "2 2 web1"]);
    assert.match(texts.at(-1) ?? "", /are stored/);
  });

  it("are given up beyond a bound", async () => {
    refused.add(load("1", Buffer.alloc(refusedLoadsBytesMax - 64)), full);
    refused.add(load("2", Buffer.alloc(128)), full);
    assert.match(texts[0] ?? "", /tries again/);
    assert.match(texts[1] ?? "", /many wait/);
    isFull = false;
    await tryAgain();
    assert.equal(stored.length, 1);
  });
});
