import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunnerJobReader } from "../../src/runners/contract/contract.ts";
import { runWheel } from "../../src/runners/wheel.ts";
import { encode } from "../../src/wire/msgpack.ts";
import type { Value } from "../../src/wire/values.ts";
import { noJobs, runnerContext } from "./calling.ts";

const jid = "20261120155553671842";

describe("wheel saltworks.returns", () => {
  it("gives whole stored loads by id, for events that were trimmed", async () => {
    const body = encode({ return: "hi", retcode: 0 }, "bin");
    const jobs: RunnerJobReader = {
      ...noJobs,
      returns: async (asked, { of }) => ({
        returns: asked === jid && of?.includes("es1") === true ? [{ minionId: "es1", body }] : [],
        hasMore: false,
      }),
    };
    const asked = new Map<Value, Value>([
      ["jid", jid],
      ["ids", ["es1", "nobody"]],
    ]);
    const answer = (await runWheel(runnerContext({ jobs }), "saltworks.returns", [], asked)) as Map<
      string,
      Map<string, Value>
    >;
    assert.deepEqual([...answer.keys()], ["es1"]);
    assert.equal(answer.get("es1")?.get("return"), "hi");
  });

  it("refuses anything but a list of ids", async () => {
    const asked = new Map<Value, Value>([
      ["jid", jid],
      ["ids", "es1"],
    ]);
    await assert.rejects(runWheel(runnerContext(), "saltworks.returns", [], asked), { code: "FUNCTION_ARGUMENTS" });
  });
});
