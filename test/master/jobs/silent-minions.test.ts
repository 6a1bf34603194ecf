/** Connected minions that got a job and do not return it. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { deliveryUnansweredMs } from "../../../src/limits.ts";
import { Deliveries } from "../../../src/master/jobs/deliveries.ts";
import { MinionNumbers } from "../../../src/master/jobs/minion-numbers.ts";

const hourMs = 3_600_000;
const settledMs = 20_000;

describe("a connected minion that got a job by a delivery", () => {
  let nowMs = 0;
  let asked: string[] = [];
  let sent: string[] = [];
  let deliveries: Deliveries;

  const keep = (jid: string, minions: string[]) =>
    deliveries.keep({ jid, fields: new Map(), minions, publishedMs: nowMs, deadlineMs: nowMs + 24 * hourMs });

  /** Lets what is due happen. */
  async function settle(test: { readonly mock: { timers: { tick: (ms: number) => void } } }): Promise<void> {
    for (let round = 0; round < 8; round += 1) {
      test.mock.timers.tick(250);
      for (let step = 0; step < 8; step += 1) await turn();
    }
  }

  beforeEach((test) => {
    assert.ok("mock" in test);
    test.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
    [nowMs, asked, sent] = [1_000_000, [], []];
    deliveries = Deliveries.open({
      store: {
        all: () => [],
        put: async () => undefined,
        putMarks: async () => undefined,
        remove: async () => undefined,
        close: async () => undefined,
      },
      numbers: new MinionNumbers(),
      send: async ({ jid }, ids) => void sent.push(...ids.map((id) => `${jid} ${id}`)),
      stillGranted: async (_, granted) => ({ granted, undecided: [] }),
      askRunning: async (jid, ids, _timeoutMs, onAnswer) => {
        asked.push(...ids.map((id) => `${jid} ${id}`));
        for (const id of ids) onAnswer({ id, runsStill: false, isFault: false });
      },
      whoReturned: async () => [],
      isAccepted: () => true,
      isConnected: () => true,
      gatherTimeoutMs: 1_000,
      onFault: assert.fail,
      ...{ now: () => nowMs, steadyMs: () => nowMs, bootMs: () => nowMs },
    });
  });

  it("keeps tries for its next start, if its return was lost", async (test) => {
    await keep("1", ["a"]);
    deliveries.noteAppearance("a", "start");
    for (const untilMs = nowMs + hourMs; nowMs < untilMs; nowMs += settledMs) {
      await settle(test);
      deliveries.scan();
    }
    assert.ok(sent.length > 1, "its connection might have broken as the job left");
    assert.ok(sent.length < 8, `sent ${sent.length} times in an hour`);
    const before = sent.length;
    deliveries.noteAppearance("a", "start");
    nowMs += settledMs;
    await settle(test);
    assert.equal(sent.length, before + 1);
    assert.equal(deliveries.counters.spent, 0);
  });

  it("is not asked at once about the next job, which it has just got", async (test) => {
    await keep("1", ["a", "b"]);
    deliveries.noteAppearance("a", "start");
    nowMs += settledMs;
    await settle(test);
    assert.deepEqual(sent, ["1 a"]);
    deliveries.noteReturn("1", "a");
    nowMs += 2 * deliveryUnansweredMs;
    await keep("2", ["a"]);
    deliveries.scan();
    nowMs += settledMs;
    await settle(test);
    assert.deepEqual([asked, sent], [["1 a"], ["1 a"]]);
    // It did not answer.
    deliveries.watch("2", ["a"]);
    nowMs += deliveryUnansweredMs;
    deliveries.scan();
    nowMs += settledMs;
    await settle(test);
    assert.deepEqual(sent, ["1 a", "2 a"]);
  });
});
