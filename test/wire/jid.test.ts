import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isJid, jidAt, jidTime, startTimeText } from "../../src/wire/jid.ts";

describe("job ids", () => {
  it("are the time in UTC to the microsecond, in 20 digits", () => {
    assert.equal(jidAt(Date.UTC(2026, 10, 20, 15, 55, 53, 671), 842), "20261120155553671842");
    assert.equal(jidAt(Date.UTC(2026, 0, 2, 3, 4, 5, 6), 7), "20260102030405006007");
    assert.deepEqual(jidTime("20261120155553671842"), new Date(Date.UTC(2026, 10, 20, 15, 55, 53, 671)));
  });

  it("may carry more behind an underscore, and nothing else", () => {
    for (const text of ["20261120155553671842", "20261120155553671842_4711"]) assert.ok(isJid(text), text);
    for (const text of [
      "",
      "req",
      "2026112015555367184",
      "202611201555536718420",
      "20261120155553671842_",
      "2026112015555367184x",
      "20261120155553671842\n",
    ]) {
      assert.ok(!isJid(text), text);
    }
  });

  it("print as Salt prints a job's start time", () => {
    assert.equal(startTimeText("20261120155553671842"), "2026, Nov 20 15:55:53.671842");
    assert.equal(startTimeText("20260102030405006007_4711"), "2026, Jan 02 03:04:05.006007");
    assert.equal(startTimeText("nocache"), "");
  });
});
