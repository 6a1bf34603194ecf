import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bindCall, splitJobArguments } from "../../../src/minion/functions/binding.ts";
import type { ModuleFunction, Signature } from "../../../src/minion/functions/module-contract.ts";
import { Float, type Value, type ValueMap } from "../../../src/wire/values.ts";

function fn(signature: Signature, more: Partial<ModuleFunction> = {}): ModuleFunction {
  return { ...signature, doc: "", run: () => null, ...more };
}

const none: ValueMap = new Map();
const kw = (members: { readonly [name: string]: Value }): ValueMap =>
  new Map<Value, Value>([["__kwarg__", true], ...Object.entries(members)]);

describe("bindCall", () => {
  const echo = fn({ params: [{ name: "text" }] });
  const three = fn({ params: [{ name: "a" }, { name: "b" }, { name: "c", default: 3 }] });
  const open = fn({ params: [{ name: "a" }], varargs: "args", kwargs: "kwargs" });

  it("binds by place, by name and by default", () => {
    assert.deepEqual(bindCall(three, "m.three", [1], new Map([["b", 2]])).named, { a: 1, b: 2, c: 3 });
    assert.deepEqual(bindCall(three, "m.three", [1, 2, null], none).named, { a: 1, b: 2, c: null });
  });

  it("puts further arguments into *args and **kwargs", () => {
    const bound = bindCall(open, "m.open", [1, 2, 3], new Map<Value, Value>([["x", 4]]));
    assert.deepEqual(bound, { named: { a: 1 }, rest: [2, 3], extra: new Map([["x", 4]]) });
  });

  it("fails with Python's messages", () => {
    const cases: [ModuleFunction, Value[], ValueMap, string][] = [
      [echo, [], none, "f() missing 1 required positional argument: 'text'"],
      [three, [], none, "f() missing 2 required positional arguments: 'a' and 'b'"],
      [
        fn({ params: [{ name: "a" }, { name: "b" }, { name: "c" }] }),
        [],
        none,
        "f() missing 3 required positional arguments: 'a', 'b', and 'c'",
      ],
      [fn({ params: [] }), [1], none, "f() takes 0 positional arguments but 1 was given"],
      [echo, [1, 2], none, "f() takes 1 positional argument but 2 were given"],
      [three, [1, 2, 3, 4], none, "f() takes from 2 to 3 positional arguments but 4 were given"],
      [echo, [1], new Map([["text", 2]]), "f() got multiple values for argument 'text'"],
      [echo, [1], new Map([["x", 2]]), "f() got an unexpected keyword argument 'x'"],
    ];
    for (const [target, args, kwargs, message] of cases) {
      assert.throws(() => bindCall(target, "m.f", args, kwargs), { code: "FUNCTION_ARGUMENTS", message });
    }
    const named = fn({ params: [] }, { pythonName: "false_" });
    assert.throws(() => bindCall(named, "test.false", [1], none), { message: /^false_\(\) takes 0/ });
  });
});

describe("splitJobArguments", () => {
  const echo = fn({ params: [{ name: "text" }] });
  const open = fn({ params: [], varargs: "args", kwargs: "kwargs" });

  it("takes marked maps and texts of the form k=v for keywords, and other maps for values", () => {
    const plain = new Map([["a", 1]]);
    const { args, kwargs } = splitJobArguments(open, [1, plain, kw({ x: 2 }), "y=1.0", "z==1", "a b=1"], none);
    assert.deepEqual(args, [1, plain, "z==1", "a b=1"]);
    assert.deepEqual(
      kwargs,
      new Map<Value, Value>([
        ["x", 2],
        ["y", new Float(1)],
      ]),
    );
  });

  it("refuses all keywords that the function does not take, with their values as Python writes them", () => {
    assert.throws(() => splitJobArguments(echo, [kw({ foo: "bar", text: 1, flag: true, n: null }), "k=[1, a]"], none), {
      code: "FUNCTION_ARGUMENTS",
      message: "The following keyword arguments are not valid: foo=bar, flag=True, n=None, k=[1, 'a']",
    });
  });

  it("gives the publish to functions with **kwargs, and to no others", () => {
    const publish: ValueMap = new Map<Value, Value>([
      ["fun", "test.arg"],
      ["jid", "1"],
    ]);
    assert.deepEqual(
      splitJobArguments(open, [], publish).kwargs,
      new Map([
        ["__pub_fun", "test.arg"],
        ["__pub_jid", "1"],
      ]),
    );
    assert.equal(splitJobArguments(echo, ["x"], publish).kwargs.size, 0);
  });
});
