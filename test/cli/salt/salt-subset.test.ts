import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chooseSubset, modulesOf } from "../../../src/cli/commands/salt/subset.ts";
import type { JobEvent } from "../../../src/client/running-job.ts";
import type { Value } from "../../../src/wire/values.ts";

const has = (id: string, value: Value = ["test.ping"]): JobEvent => ({
  kind: "return",
  id,
  value,
  retcode: 0,
  outputter: undefined,
});
const silent = (id: string): JobEvent => ({ kind: "silent", id, reason: "No response" });
/** Always takes the last of the remaining ids, so that ids keep their order. */
const last = (end: number) => end - 1;

async function choose(ids: string[], events: JobEvent[], count: number, below = last) {
  let readCount = 0;
  async function* read() {
    for (const event of events) {
      readCount += 1;
      yield event;
    }
  }
  const chosen = await chooseSubset(ids, read(), ["test.ping"], count, below);
  return { chosen, readCount };
}

describe("chooseSubset", () => {
  it("waits for minions earlier in the order, and for none after the last chosen one", async () => {
    const { chosen, readCount } = await choose(["a", "b", "c", "d"], [has("c"), has("b"), has("a"), silent("d")], 2);
    assert.deepEqual(chosen, ["a", "b"]);
    assert.equal(readCount, 3);
  });
  it("passes over minions that lack the function, are silent or answer with an error", async () => {
    const events = [has("a", ["test.echo"]), silent("b"), has("c", "Traceback"), has("d")];
    assert.deepEqual((await choose(["a", "b", "c", "d"], events, 2)).chosen, ["d"]);
  });
  it("takes what it knows when the answers end early", async () => {
    assert.deepEqual((await choose(["a", "b", "c"], [has("c"), has("b")], 3)).chosen, ["b", "c"]);
  });
  it("takes minions that only a syndic reaches", async () => {
    assert.deepEqual((await choose(["a"], [silent("a"), has("z")], 1)).chosen, ["z"]);
  });
  it("gives every minion the same chance, whatever the order of answers", async () => {
    const ids = ["a", "b", "c", "d", "e"];
    const counts = new Map<string, number>();
    for (let run = 0; run < 2_000; run += 1) {
      for (const id of (await chooseSubset(ids, answers(ids), ["test.ping"], 2)).values()) {
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
    }
    // 800 each on average; a deviation of 150 is seven times the standard deviation.
    for (const id of ids) assert.ok(Math.abs((counts.get(id) ?? 0) - 800) < 150, JSON.stringify([...counts]));
  });
});

async function* answers(ids: readonly string[]): AsyncGenerator<JobEvent> {
  for (const id of ids) yield has(id);
}

describe("modulesOf", () => {
  it("names each module once", () => {
    assert.deepEqual(modulesOf(["test.ping", "test.echo", "cmd.run"]), ["test", "cmd"]);
  });
});
