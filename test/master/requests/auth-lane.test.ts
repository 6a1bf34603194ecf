import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AuthLane } from "../../../src/master/requests/auth-lane.ts";
import { packReplies } from "../../../src/workers/batch/auth-tasks.ts";
import type { RsaTask } from "../../../src/workers/messages/lanes.ts";
import { namedPeer } from "../ports/named-peer.ts";

const keys = { aes: "key string", signature: Buffer.from("signature"), former: undefined };

/** A lane that answers every task with `result`, and what came of it. */
function openLane(result: () => Promise<unknown>) {
  const tasks: RsaTask[] = [];
  const replies: [string, string][] = [];
  const faults: string[] = [];
  const forgotten: string[] = [];
  const run = (task: object) => {
    tasks.push(task as RsaTask);
    return result() as Promise<never>;
  };
  const lane = new AuthLane({
    rsa: { run },
    keys: () => keys,
    reply: (peer, frame) => void replies.push([String(peer), frame.toString()]),
    forget: (peer) => void forgotten.push(String(peer)),
    onFault: (error) => void faults.push(error.message),
  });
  return { lane, tasks, replies, faults, forgotten };
}

const peers = ["a", "b", "c"].map((name) => namedPeer(name));
const batch = () => ({ items: Uint16Array.of(0, 1, 2), tasks: new ArrayBuffer(8) });

describe("AuthLane", () => {
  it("brings each reply to its own connection, with the keys as they are now in the task", async () => {
    const frames = ["one", "two", "three"].map((text) => Buffer.from(text));
    const { lane, tasks, replies } = openLane(async () => packReplies(frames));
    await lane.answer(batch(), peers);
    assert.deepEqual(replies, [
      ["a", "one"],
      ["b", "two"],
      ["c", "three"],
    ]);
    assert.ok(tasks[0]?.kind === "authReplies");
    assert.deepEqual([tasks[0].aes, tasks[0].aesSignature], [keys.aes, keys.signature]);
    assert.equal(lane.counters.authsAnswered, 3);
  });

  it("leaves a request without an answer to its client's timeout", async () => {
    const { lane, replies, forgotten } = openLane(async () =>
      packReplies([Buffer.from("one"), undefined, Buffer.from("three")]),
    );
    await lane.answer(batch(), peers);
    assert.deepEqual(
      replies.map(([peer]) => peer),
      ["a", "c"],
    );
    assert.deepEqual(lane.counters, { authsAnswered: 2, authsFailed: 1 });
    assert.deepEqual(forgotten, ["b"], "its connection owes one reply less");
  });

  it("reports a failed task and sends no answer, because an answer that is not a verdict makes a minion give up", async () => {
    const { lane, replies, faults } = openLane(async () => {
      throw new Error("lane full");
    });
    await lane.answer(batch(), peers);
    assert.deepEqual([replies, faults, lane.counters.authsFailed], [[], ["lane full"], 3]);
  });
});
