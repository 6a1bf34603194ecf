import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { expectedMinions } from "../../../src/master/publish/expected-minions.ts";
import { packTexts } from "../../../src/wire/text-list.ts";
import type { MatchAnswer } from "../../../src/workers/messages/worker.ts";
import type { WorkerPool } from "../../../src/workers/threads/worker-pool.ts";

const target = { target: "os:Debian", targetKind: "grain", delimiter: ":" };

function ready(ids: string[]): MatchAnswer {
  const { count, bytes } = packTexts(ids);
  return { state: "ready", count, ids: bytes };
}

/** Workers that give these answers, one after the other. */
function poolOf(...slots: MatchAnswer[][]) {
  const asked: number[] = [];
  const pool = {
    slotCount: slots.length,
    offer: async (slot: number) => {
      asked.push(slot);
      return slots[slot]?.shift();
    },
  };
  return { pool: pool as unknown as WorkerPool, asked };
}

describe("expectedMinions", () => {
  it("puts the workers' lists together", async () => {
    const { pool } = poolOf([ready(["a", "b"])], [ready([])], [ready(["c"])]);
    const minions = await expectedMinions(pool, target);
    assert.equal(minions.count, 3);
    assert.deepEqual(minions.texts(), ["a", "b", "c"]);
  });

  it("asks a worker that indexes first until it is ready, and no other again", async () => {
    const pending: MatchAnswer = { state: "pending" };
    const { pool, asked } = poolOf([ready(["a"])], [pending, pending, ready(["b"])]);
    assert.deepEqual((await expectedMinions(pool, target)).texts(), ["a", "b"]);
    assert.deepEqual(asked, [0, 1, 1, 1]);
  });

  it("fails with the reason of a worker that refuses", async () => {
    const { pool } = poolOf([ready(["a"])], [{ state: "refused", reason: "too long" }]);
    await assert.rejects(expectedMinions(pool, target), { code: "TARGET_INVALID", message: /too long/ });
  });
});
