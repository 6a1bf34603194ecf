import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AuthResponder } from "../../../src/master/requests/auth-responder.ts";
import { packReplies } from "../../../src/workers/batch/auth-tasks.ts";
import type { RsaTask } from "../../../src/workers/messages/lanes.ts";
import { namedConnection } from "../ports/named-connection.ts";

const keys = { aes: "key string", signature: Buffer.from("signature"), former: undefined };

/** A responder that answers every task with `result`, and records the outcome. */
function openResponder(result: () => Promise<unknown>) {
  const tasks: RsaTask[] = [];
  const replies: [string, string][] = [];
  const faults: string[] = [];
  const forgotten: string[] = [];
  const run = (task: object) => {
    tasks.push(task as RsaTask);
    return result() as Promise<never>;
  };
  const responder = new AuthResponder({
    rsa: { run },
    keys: () => keys,
    reply: (connection, frame) => void replies.push([String(connection), frame.toString()]),
    forget: (connection) => void forgotten.push(String(connection)),
    onFault: (error) => void faults.push(error.message),
  });
  return { responder, tasks, replies, faults, forgotten };
}

const connections = ["a", "b", "c"].map((name) => namedConnection(name));
const batch = () => ({ items: Uint16Array.of(0, 1, 2), tasks: new ArrayBuffer(8) });

describe("AuthResponder", () => {
  it("brings each reply to its own connection, with the keys as they are now in the task", async () => {
    const frames = ["one", "two", "three"].map((text) => Buffer.from(text));
    const { responder, tasks, replies } = openResponder(async () => packReplies(frames));
    await responder.answer(batch(), connections);
    assert.deepEqual(replies, [
      ["a", "one"],
      ["b", "two"],
      ["c", "three"],
    ]);
    assert.ok(tasks[0]?.kind === "authReplies");
    assert.deepEqual([tasks[0].aes, tasks[0].aesSignature], [keys.aes, keys.signature]);
    assert.equal(responder.counters.authsAnswered, 3);
  });

  it("leaves a request without an answer to its client's timeout", async () => {
    const { responder, replies, forgotten } = openResponder(async () =>
      packReplies([Buffer.from("one"), undefined, Buffer.from("three")]),
    );
    await responder.answer(batch(), connections);
    assert.deepEqual(
      replies.map(([connection]) => connection),
      ["a", "c"],
    );
    assert.deepEqual(responder.counters, { authsAnswered: 2, authsFailed: 1 });
    assert.deepEqual(forgotten, ["b"], "its connection owes one reply less");
  });

  it("reports a failed task and sends no answer, because an answer that is not a verdict makes a minion give up", async () => {
    const { responder, replies, faults } = openResponder(async () => {
      throw new Error("responder full");
    });
    await responder.answer(batch(), connections);
    assert.deepEqual([replies, faults, responder.counters.authsFailed], [[], ["responder full"], 3]);
  });
});
