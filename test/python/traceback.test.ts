import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandError, invocationError, pythonException } from "../../src/minion/functions/errors.ts";
import { summaryOf, tracebackOf } from "../../src/python/traceback.ts";

describe("python tracebacks", () => {
  it("names exceptions as Python does", () => {
    assert.equal(summaryOf(pythonException("KeyError", "'k'")), "KeyError: 'k'");
    assert.equal(summaryOf(pythonException("Exception", "")), "Exception");
    assert.equal(summaryOf(commandError("boom")), "salt.exceptions.CommandExecutionError: boom");
    assert.equal(summaryOf(invocationError("odd")), "salt.exceptions.SaltInvocationError: odd");
    assert.equal(summaryOf(new RangeError("far")), "RangeError: far");
    assert.equal(summaryOf("thrown text"), "Exception: thrown text");
  });

  it("shows frames with the innermost last, without the functions that make errors", () => {
    function innermost(): Error {
      return pythonException("Exception", "deep");
    }
    const lines = tracebackOf(innermost()).split("\n");
    assert.equal(lines[0], "Traceback (most recent call last):");
    assert.match(lines.at(-3) ?? "", /^ {2}File ".*traceback\.test\.[jt]s", line \d+, in innermost$/);
    assert.equal(lines.at(-2), "Exception: deep");
    assert.equal(lines.at(-1), "");
  });
});
