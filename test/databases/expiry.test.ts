/** The removal of old rows goes on where a step ended, and fails without losing its place. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkClock } from "../../src/databases/contract/clock.ts";
import type { ExpiryStep } from "../../src/databases/contract/database.ts";
import { Expiry } from "../../src/databases/expiry.ts";
import { SaltworksError } from "../../src/errors.ts";
import { databaseClockMsMax, databaseExpiryMs } from "../../src/limits.ts";

const task = { keepSeconds: 60, archives: true };

describe("the removal of old rows", () => {
  it("runs in steps until nothing old is left, and begins anew", async () => {
    const asked: (string | undefined)[] = [];
    const expiry = new Expiry({
      expire: async ({ after }: ExpiryStep) => {
        asked.push(after);
        return { jobs: 1, returns: 2, events: 3, next: after === undefined ? "b" : after === "b" ? "c" : undefined };
      },
    });
    const done = { jobs: 3, returns: 6, events: 9, isDone: true, fault: undefined };
    assert.deepEqual(await expiry.step(task), done);
    assert.deepEqual(await expiry.step(task), done);
    assert.deepEqual(asked, [undefined, "b", "c", undefined, "b", "c"]);
  });

  it("ends a step after its time, and goes on with the next", async ({ mock }) => {
    let nowMs = 0;
    mock.method(performance, "now", () => nowMs);
    const expiry = new Expiry({
      expire: async ({ after }) => {
        nowMs += databaseExpiryMs;
        return { jobs: 1, returns: 0, events: 0, next: after === undefined ? "b" : undefined };
      },
    });
    assert.deepEqual([(await expiry.step(task)).isDone, (await expiry.step(task)).isDone], [false, true]);
  });

  it("keeps its counts when the database fails, and begins anew", async () => {
    const asked: (string | undefined)[] = [];
    const expiry = new Expiry({
      expire: async ({ after }) => {
        asked.push(after);
        if (asked.length === 2) throw new SaltworksError("DATABASE_FAILED", "gone");
        return { jobs: 0, returns: 5, events: 0, next: after === undefined ? "b" : undefined };
      },
    });
    assert.deepEqual(await expiry.step(task), { jobs: 0, returns: 5, events: 0, isDone: false, fault: "gone" });
    assert.equal((await expiry.step(task)).isDone, true);
    assert.deepEqual(asked, [undefined, "b", undefined, "b"]);
  });

  it("is refused while the clocks of database and master are far apart", () => {
    checkClock("db", 1_000_000_000_000 + databaseClockMsMax, 1_000_000_000_000);
    for (const apart of [-1, 1])
      assert.throws(() => checkClock("db", 1_000_000_000_000 + apart * (databaseClockMsMax + 1), 1_000_000_000_000), {
        code: "DATABASE_FAILED",
        message: /60 minutes apart/,
      });
  });
});
