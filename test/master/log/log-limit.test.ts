import assert from "node:assert/strict";
import { describe, it } from "node:test";
import pino from "pino";
import { SaltworksError } from "../../../src/errors.ts";
import { logBurstLines, logItemsMax, logLineMs, logSentencesMax, logTextLengthMax } from "../../../src/limits.ts";
import { LogLimit } from "../../../src/master/log/log-limit.ts";

type Line = { readonly msg: string; readonly [field: string]: unknown };

function open() {
  const lines: Line[] = [];
  const state = { nowMs: 0 };
  const inner = pino({ level: "trace" }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  const limit = new LogLimit(inner, () => state.nowMs);
  return { limit, logger: limit.logger, lines, state };
}

describe("LogLimit", () => {
  it("lets a sentence appear a few times at once and then once in a while, with the count of lines left out", () => {
    for (const level of ["trace", "debug", "info", "warn", "error"] as const) {
      const { limit, logger, lines, state } = open();
      for (let at = 0; at < 1_000; at += 1) logger[level]({ at }, "refused");
      assert.equal(lines.length, logBurstLines, level);
      assert.equal(limit.counters.logLinesSuppressed, 1_000 - logBurstLines);
      state.nowMs += logLineMs;
      logger[level]({ at: 1_000 }, "refused");
      logger[level]("refused");
      assert.equal(lines.length, logBurstLines + 1);
      assert.deepEqual([lines.at(-1)?.at, lines.at(-1)?.suppressed], [1_000, 1_000 - logBurstLines]);
      logger[level]("another sentence");
      assert.equal(lines.at(-1)?.msg, "another sentence");
    }
  });

  it("does not grow with texts that strangers choose", () => {
    const { logger, lines } = open();
    for (let at = 0; at < logSentencesMax + 1_000; at += 1) logger.warn(`refused ${at}`);
    assert.equal(lines.length, logSentencesMax + logBurstLines);
  });

  it("shows the beginning of long values, and their length", () => {
    const { logger, lines } = open();
    const id = "x".repeat(1_000_000);
    const error = new SaltworksError("WIRE_MALFORMED", id, { id }, { cause: new Error(id) });
    logger.error({ id, ids: new Array(1_000).fill(id), deep: { id }, err: error }, "a request could not be answered");
    const [line] = lines;
    assert.ok(JSON.stringify(line).length < (logItemsMax + 10) * (logTextLengthMax + 100));
    assert.equal(line?.id, `${"x".repeat(logTextLengthMax)}.. (1000000 characters)`);
    const shown = line?.err as { readonly [field: string]: unknown };
    assert.deepEqual([shown.type, shown.code], ["SaltworksError", "WIRE_MALFORMED"]);
    assert.match(String(shown.stack), /caused by/);
  });

  it("never holds back what ends the master", () => {
    const { logger, lines } = open();
    for (let at = 0; at < 100; at += 1) logger.fatal("the master cannot go on");
    assert.equal(lines.length, 100);
  });
});
