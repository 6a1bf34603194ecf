/** Jobs whose returns are too large for one answer: the call fails with a message before the returns fill the memory. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { heldReturnsBytesMax } from "../../../src/limits.ts";
import type { RunnerJobReader } from "../../../src/runners/contract/contract.ts";
import { runWheel } from "../../../src/runners/wheel.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import { callRunner, noJobs, runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

const jid = "20261120155553671842";
const body = encode({ return: Buffer.alloc(1024 * 1024, 1), retcode: 0, success: true }, "bin");
const returnsPerPage = 16;

/** Endless returns, all with the same body. */
function endless(): { readonly jobs: RunnerJobReader; readonly given: () => number } {
  let given = 0;
  const jobs: RunnerJobReader = {
    ...noJobs,
    job: async () => ({ jid, load: encode({ fun: "test.ping", kwargs: { id: "m0" } }, "bin"), minions: [] }),
    returns: async () => {
      const returns = Array.from({ length: returnsPerPage }, (_, at) => ({ minionId: `m${given + at}`, body }));
      given += returnsPerPage;
      return { returns, hasMore: true };
    },
  };
  return { jobs, given: () => given };
}

describe("a call that would hold too many bytes of returns", () => {
  const most = Math.ceil(heldReturnsBytesMax / body.byteLength) + returnsPerPage;

  for (const name of ["jobs.lookup_jid", "jobs.list_job", "jobs.print_job"]) {
    it(`fails in words: ${name}`, async () => {
      const { jobs, given } = endless();
      await assert.rejects(callRunner(runnerContext({ jobs }), name, [jid]), {
        code: "FUNCTION_FAILED",
        message: /ask for less/,
      });
      assert.ok(given() <= most, `${given()} returns were read`);
    });
  }

  it("fails in words for a minion that asks for what it published, and for returns by name", async () => {
    for (const [name, more] of [
      ["saltworks.peer_returns", ["id", "m0"]],
      ["saltworks.returns", ["ids", ["m0"]]],
    ] as const) {
      const { jobs, given } = endless();
      const args = new Map<Value, Value>([["jid", jid], more as [Value, Value]]);
      await assert.rejects(runWheel(runnerContext({ jobs, master: masterAccess({}) }), name, [], args), {
        code: "FUNCTION_FAILED",
        message: /ask for less/,
      });
      assert.ok(given() <= most, `${given()} returns were read`);
    }
  });

  it("is none if the answer leaves the returns out, however many there are", async () => {
    const count = 2 * Math.ceil(heldReturnsBytesMax / body.byteLength);
    const jobs: RunnerJobReader = {
      ...noJobs,
      job: async () => ({ jid, load: encode({ fun: "test.ping" }, "bin"), minions: ["m0", "absent"] }),
      returns: async (_, { after }) => {
        const at = after === undefined ? 0 : Number(after.slice(1)) + 1;
        return { returns: [{ minionId: `m${at}`, body }], hasMore: at + 1 < count };
      },
    };
    const context = runnerContext({ jobs });
    const asked = { missing: true, returned: false };
    assert.deepEqual(await callRunner(context, "jobs.lookup_jid", [jid], asked), { absent: "Minion did not return" });
    assert.equal(Object.keys((await callRunner(context, "jobs.exit_success", [jid])) as object).length, count + 1);
  });
});
