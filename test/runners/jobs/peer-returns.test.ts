import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunnerContext } from "../../../src/runners/contract/contract.ts";
import { wheelFunctions } from "../../../src/runners/wheel.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";

const jid = "20261120155555511892";

async function returnsFor(id: string, form: { [name: string]: boolean }, kwargs: Encodable = { id: "es1" }) {
  const load = encode({ fun: "test.ping", kwargs }, "bin");
  const bodies = [
    ["es1", { id: "es1", jid, return: true, retcode: 0, success: true }],
    ["es2", { id: "es2", jid, return: "x", retcode: 1, success: false, out: "nested" }],
  ] as const;
  const jobs = {
    job: async (asked: string) => (asked === jid ? { jid, load, minions: [] } : undefined),
    returns: async () => ({
      returns: bodies.map(([minionId, body]) => ({ minionId, body: encode(body, "bin") })),
      hasMore: false,
    }),
  };
  const args = new Map(Object.entries({ jid, id, ...form }));
  const context = { jobs } as unknown as RunnerContext;
  const value = await wheelFunctions
    .get("saltworks.peer_returns")
    ?.run(context, args, { positional: [], keywords: new Map() });
  return decode(encode(value ?? null, "bin")) as Map<string, Encodable>;
}
const map = (fields: { [name: string]: Encodable }) => new Map(Object.entries(fields));

describe("returns of a job that a minion published", () => {
  it("are the returns so far, each with its outputter", async () => {
    const returns = await returnsFor("es1", {});
    assert.deepEqual(returns, map({ es1: map({ ret: true }), es2: map({ ret: "x", out: "nested" }) }));
  });

  it("are bare values if the master has waited for them, or whole returns", async () => {
    assert.deepEqual(await returnsFor("es1", { waited: true }), map({ es1: true, es2: "x" }));
    const full = await returnsFor("es1", { waited: true, full: true });
    assert.equal(full.get("__jid__"), jid);
    assert.deepEqual(full.get("es1"), map({ id: "es1", jid, retcode: 0, success: true, ret: true }));
  });

  it("are for that minion only", async () => {
    assert.deepEqual(await returnsFor("es2", {}), new Map());
    assert.deepEqual(await returnsFor("es1", {}, {}), new Map());
    assert.deepEqual(await returnsFor("", {}, null), new Map());
  });
});
