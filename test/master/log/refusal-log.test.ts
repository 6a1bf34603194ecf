/** Log lines that strangers and minions can cause. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import pino from "pino";
import { logBurstLines, logLineMs, logSentencesMax, logTextLengthMax } from "../../../src/limits.ts";
import { LogLimit } from "../../../src/master/log/log-limit.ts";
import { RefusalLog } from "../../../src/master/log/refusal-log.ts";

describe("refusals in the log", () => {
  it("take the place of no sentence of the master, with any text of a stranger", () => {
    const clock = { nowMs: 0 };
    const lines: { readonly msg: string }[] = [];
    const inner = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as { msg: string }) });
    const { logger } = new LogLimit(inner, () => clock.nowMs);
    const log = new RefusalLog(logger, () => clock.nowMs);
    const refusals = logSentencesMax + 100;
    for (let index = 0; index < refusals; index += 1) {
      log.note({ id: "" }, `Requested method not exposed: ${index}`, "error");
      clock.nowMs += logLineMs;
    }
    assert.equal(lines.length, refusals);
    const sentences = Array.from({ length: 2 * logBurstLines }, (_, index) => `the master's own sentence ${index}`);
    for (const sentence of sentences) logger.warn(sentence);
    assert.deepEqual(
      lines.slice(refusals).map(({ msg }) => msg),
      sentences,
    );
    log.note({}, "x".repeat(10 * logTextLengthMax));
    assert.ok((lines.at(-1)?.msg.length ?? 0) < 2 * logTextLengthMax);
  });

  it("are all logged when they are few, and one a second beyond, with the count of the others", () => {
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
