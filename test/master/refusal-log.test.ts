/** What strangers and minions can have written to the log. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { logBurstLines, logLineMs } from "../../src/limits.ts";
import { RefusalLog } from "../../src/master/refusal-log.ts";

describe("refusals in the log", () => {
  it("are all told when they are few, one a second beyond, with how many were not", () => {
    const lines: unknown[][] = [];
    const clock = { nowMs: 1_000_000 };
    const write =
      (level: string) =>
      (...line: unknown[]) =>
        void lines.push([level, ...line]);
    const logger = { warn: write("warn"), error: write("error") } as never;
    const log = new RefusalLog(logger, () => clock.nowMs);
    for (let index = 0; index < logBurstLines + 5; index += 1) log.note({ id: "a" }, `no ${index}`, "error");
    assert.equal(lines.length, logBurstLines);
    assert.deepEqual(lines.at(-1), ["error", { id: "a" }, `no ${logBurstLines - 1}`]);
    clock.nowMs += logLineMs;
    log.note({ id: "b" }, "later");
    log.note({ id: "b" }, "too soon");
    assert.deepEqual(lines.slice(logBurstLines), [["warn", { id: "b", suppressed: 5 }, "later"]]);
    // The clock is set back by a day.
    clock.nowMs -= 86_400_000;
    log.note({ id: "b" }, "back");
    clock.nowMs += logLineMs;
    log.note({ id: "b" }, "again");
    assert.deepEqual(lines.at(-1), ["warn", { id: "b", suppressed: 2 }, "again"]);
  });
});
