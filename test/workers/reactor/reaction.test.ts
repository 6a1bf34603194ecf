/** Requests that reactions become, from both forms of arguments. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import { reactionOf } from "../../../src/workers/reactor/reaction.ts";
import { plainJson } from "../../plain.ts";

type Members = Readonly<Record<string, Value>>;

function loadOf(state: string, fun: string, members: Members, hasPython = false) {
  const head = { state, fun, name: "id", __id__: "id", __sls__: "/a.sls", order: 1 };
  const reaction = reactionOf(new Map<Value, Value>(Object.entries({ ...head, ...members })), hasPython);
  return plainJson(decode(reaction.load)) as Record<string, unknown>;
}

const map = (entries: Members): Value => new Map(Object.entries(entries));

describe("a local reaction", () => {
  it("takes args as keywords", () => {
    for (const args of [[map({ a: 1 }), map({ b: 2 })], map({ a: 1, b: 2 })]) {
      const load = loadOf("local", "test.arg", { tgt: "web*", args });
      assert.deepEqual(load.arg, [{ __kwarg__: true, a: 1, b: 2 }]);
      assert.deepEqual([load.tgt, load.tgt_type, load.ret, load.fun], ["web*", "glob", "", "test.arg"]);
    }
  });

  it("takes arg and kwarg, and passes other members on with the job", () => {
    const members = { tgt: ["a"], tgt_type: "list", arg: [1, "x"], kwarg: map({ k: 1 }), ret: "mysql", metadata: "m" };
    const load = loadOf("local", "test.arg", { ...members, timeout: 5 });
    assert.deepEqual(load.arg, [1, "x", { __kwarg__: true, k: 1 }]);
    assert.deepEqual([load.tgt, load.tgt_type, load.ret], [["a"], "list", "mysql"]);
    assert.deepEqual(load.kwargs, {
      ...{ state: "local", name: "id", __id__: "id", __sls__: "/a.sls", order: 1, metadata: "m" },
    });
  });

  it("keeps job ids as texts", () => {
    const load = loadOf("local", "saltutil.find_job", { tgt: "*", arg: [20201224000000000001n] });
    assert.deepEqual(load.arg, ["20201224000000000001"]);
  });

  it("needs a target", () => {
    assert.throws(() => loadOf("local", "test.ping", {}), /tgt is missing/);
  });
});

describe("a runner or wheel reaction", () => {
  it("takes args as keywords", () => {
    assert.deepEqual(loadOf("runner", "test.arg", { args: [map({ a: 1 })] }).kwarg, { arg: [], kwarg: { a: 1 } });
    const wheel = loadOf("wheel", "key.accept", { args: map({ match: "x" }) });
    assert.deepEqual([wheel.arg, wheel.kwarg], [[], { match: "x" }]);
  });

  it("takes arg and kwarg", () => {
    const members = { arg: [1], kwarg: map({ a: 1 }) };
    assert.deepEqual(loadOf("runner", "test.arg", members).kwarg, { arg: [1], kwarg: { a: 1 } });
  });

  it("takes a member for each parameter", () => {
    const { arg, kwarg } = loadOf("wheel", "key.accept", { match: "x", include_rejected: true });
    assert.deepEqual([arg, kwarg], [["x"], { include_rejected: true }]);
  });

  it("is refused for wrong arguments and unknown functions", () => {
    const fails = (state: string, fun: string, members: Members, reason: RegExp) =>
      assert.throws(() => loadOf(state, fun, members), { code: "FUNCTION_ARGUMENTS", message: reason });
    fails("wheel", "key.accept", {}, /needs the argument 'match'/);
    fails("wheel", "key.accept", { match: "x", nosuch: 1 }, /'nosuch' is not an argument/);
    fails("runner", "nosuch.fun", {}, /function not available/);
    fails("runner", "test.arg", { args: [] }, /incorrect argument format/);
    fails("runner", "test.arg", { args: [map({ a: 1, b: 2 })] }, /incorrect argument format/);
    fails("caller", "test.ping", {}, /need a Python with Salt/);
    fails("nosuch", "test.ping", {}, /there is no reaction 'nosuch'/);
  });
});

describe("a caller reaction", () => {
  const argumentsOf = (members: Members) => loadOf("caller", "test.arg", members, true);

  it("takes args as keywords, and a list of other things as arguments by their places", () => {
    assert.deepEqual(argumentsOf({ args: [map({ a: 1 }), map({ b: 2 })] }), { args: [], kwargs: { a: 1, b: 2 } });
    assert.deepEqual(argumentsOf({ args: map({ a: 1 }) }), { args: [], kwargs: { a: 1 } });
    assert.deepEqual(argumentsOf({ args: ["x", map({ a: 1 })] }), { args: ["x", { a: 1 }], kwargs: {} });
  });

  it("takes arg and kwarg", () => {
    assert.deepEqual(argumentsOf({ arg: [1], kwarg: map({ a: 1 }) }), { args: [1], kwargs: { a: 1 } });
    assert.deepEqual(argumentsOf({}), { args: [], kwargs: {} });
  });
});
