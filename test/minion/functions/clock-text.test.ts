import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import { asctime, jidText, now, stampText } from "../../../src/minion/functions/clock-text.ts";

/** Less than a day, and longer than a busy machine delays a process. */
const heldUpMsMax = 60_000;

describe("clock texts", () => {
  const moment = { epochMs: Date.UTC(2026, 10, 20, 15, 38, 2, 598), micros: 77 };

  it("writes stamps and job ids in UTC, to the microsecond", () => {
    assert.equal(stampText(moment), "2026-11-20T15:38:02.598077");
    assert.equal(jidText(moment), "20261120153802598077");
  });

  it("writes start messages as C does, in local time with a padded day", () => {
    assert.equal(asctime(new Date(2026, 10, 5, 9, 8, 7)), "Thu Nov  5 09:08:07 2026");
  });

  it("reads the present between two readings of the clock", () => {
    const before = Date.now();
    const { epochMs, micros } = now();
    // The fine clock may differ from the coarse one by a few milliseconds.
    assert.ok(epochMs > before - 50 && epochMs < Date.now() + 50);
    assert.ok(Number.isInteger(micros) && micros >= 0 && micros < 1_000);
  });

  it("reads the present of a clock that was set since the process began", () => {
    const realMs = Date.now;
    const setBy = mock.method(Date, "now", () => realMs() + 86_400_000);
    assert.ok(Math.abs(now().epochMs - Date.now()) < heldUpMsMax);
    setBy.mock.restore();
    assert.ok(Math.abs(now().epochMs - Date.now()) < heldUpMsMax);
  });
});
