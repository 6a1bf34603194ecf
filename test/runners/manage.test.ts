import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Value } from "../../src/wire/values.ts";
import { callRunner, runnerContext } from "./calling.ts";
import { masterAccess } from "./master-access.ts";

describe("runner manage", () => {
  it("lists who answered and who did not, sorted", async () => {
    const master = masterAccess({
      runJob: async () => ({
        jid: "j",
        minions: ["c", "a", "b"],
        returns: new Map<string, Value>([
          ["c", true],
          ["a", true],
        ]),
        silent: { b: "No response" },
      }),
    });
    const context = runnerContext({ master });
    assert.deepEqual(await callRunner(context, "manage.status"), { up: ["a", "c"], down: ["b"] });
    assert.deepEqual(await callRunner(context, "manage.up"), ["a", "c"]);
    assert.deepEqual(await callRunner(context, "manage.down"), ["b"]);
  });

  it("needs a running master, and says so", async () => {
    await assert.rejects(callRunner(runnerContext(), "manage.up"), { code: "MASTER_UNREACHABLE" });
  });
});

describe("runner saltworks", () => {
  it("gives the running master's counters, and says that a stopped one has none", async () => {
    const master = masterAccess({ counters: async () => ({ main: { frames: 7 } }) });
    assert.deepEqual(await callRunner(runnerContext({ master }), "saltworks.counters"), { main: { frames: 7 } });
    await assert.rejects(callRunner(runnerContext(), "saltworks.counters"), { code: "MASTER_UNREACHABLE" });
  });
});
