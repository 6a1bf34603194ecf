import assert from "node:assert/strict";
import { it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { askBlocking } from "../../src/sidecar/blocking.ts";
import { type LineAnswer, outcomeOf } from "../../src/sidecar/outcome.ts";

it("a question on a line to Python gets its own answer, not one that came too late for an earlier question", () => {
  const { port1, port2 } = new MessageChannel();
  const signal = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const answer = (serial: number, text: string) =>
    port2.postMessage({ serial, outcome: outcomeOf(text) } satisfies LineAnswer);
  try {
    answer(0, "late");
    answer(1, "first");
    assert.equal(askBlocking({ port: port1, signal }, { kind: "function" }, 1_000), "first");
    answer(1, "first again");
    answer(2, "second");
    assert.equal(askBlocking({ port: port1, signal }, { kind: "function" }, 1_000), "second");
  } finally {
    port1.close();
  }
});
