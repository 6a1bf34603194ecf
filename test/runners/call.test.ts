import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { callFunction, failureText } from "../../src/runners/contract/call.ts";
import type { RunnerFunction } from "../../src/runners/contract/contract.ts";
import { Float, type Value } from "../../src/wire/values.ts";
import { runnerContext } from "./calling.ts";

const parameters = [
  { name: "first", isRequired: true },
  { name: "second", isRequired: false },
];
const run: RunnerFunction["run"] = (_, args, extra) => [
  [...args.entries()].map((pair) => [...pair]),
  [...extra.positional],
  [...extra.keywords.entries()].map((pair) => [...pair]),
];
const functions = new Map<string, RunnerFunction>([
  ["probe.plain", { parameters, doc: "Shows its arguments.", isOffline: true, run }],
  ["probe.two", { parameters: parameters.map((one) => ({ ...one, isRequired: true })), doc: "", isOffline: true, run }],
  ["probe.none", { parameters: [], doc: "", isOffline: true, run }],
  ["probe.all", { parameters, takes: "all", doc: "", isOffline: true, run }],
  ["probe.list", { parameters: [], doc: "", isOffline: true, shortName: "list_", run }],
  ["probe.job", { parameters: [{ name: "jid", isRequired: true }], doc: "", isOffline: true, run }],
  ["probe.online", { parameters: [], doc: "", run }],
]);

const call = (name: string, args: Value[] = [], kwargs: [Value, Value][] = []) =>
  callFunction(functions, runnerContext(), name, args, new Map(kwargs));
const rejects = (name: string, args: Value[], kwargs: [Value, Value][], message: string) =>
  assert.rejects(call(name, args, kwargs), { code: "FUNCTION_ARGUMENTS", message });

describe("a runner's arguments", () => {
  it("refuse a job id that is a path, a tag of several parts, or too long", async () => {
    for (const jid of ["../tokens", "a/b", "/etc", "..", ".", "a\\b", "a\nb", "x".repeat(65)]) {
      await rejects("probe.job", [jid], [], "job() takes a job id that is not a path");
      await rejects("probe.job", [], [["jid", jid]], "job() takes a job id that is not a path");
    }
    for (const jid of [["../../x"], new Map([["a", "b"]]), true, new Float(1.5), new Uint8Array(2)])
      await rejects("probe.job", [jid], [], "job() takes a job id that is not a path");
    for (const jid of ["20260102030405000001", "20260102030405000001_77", "mine", 20260102030405000001n, 7, null])
      await call("probe.job", [jid]);
  });

  it("are refused in Python's words when they are missing, too many, unknown or given twice", async () => {
    await rejects("probe.plain", [], [], "plain() missing 1 required positional argument: 'first'");
    await rejects("probe.two", [], [], "two() missing 2 required positional arguments: 'first' and 'second'");
    await rejects("probe.plain", [1, 2, 3], [], "plain() takes from 1 to 2 positional arguments but 3 were given");
    await rejects("probe.none", [1], [], "none() takes 0 positional arguments but 1 was given");
    await rejects("probe.two", [1, 2, 3], [], "two() takes 2 positional arguments but 3 were given");
    await rejects("probe.plain", [1], [["nosuch", 1]], "plain() got an unexpected keyword argument 'nosuch'");
    await rejects("probe.plain", [1], [["first", 2]], "plain() got multiple values for argument 'first'");
    await rejects("probe.list", [1], [], "list_() takes 0 positional arguments but 1 was given");
  });

  it("may stand in a marked map among the words", async () => {
    const marked = new Map<Value, Value>([
      ["__kwarg__", true],
      ["first", "x"],
    ]);
    assert.deepEqual(await call("probe.plain", [marked]), [[["first", "x"]], [], []]);
  });

  it("reach a function that takes any", async () => {
    assert.deepEqual(await call("probe.all", [1, 2, 3], [["more", 4]]), [
      [
        ["first", 1],
        ["second", 2],
      ],
      [3],
      [["more", 4]],
    ]);
  });
});

describe("a failed call", () => {
  it("names a function that does not exist", async () => {
    await assert.rejects(call("nosuch.fun"), { code: "FUNCTION_UNKNOWN", message: "'nosuch.fun' is not available." });
  });

  it("says that a function needs a running master", async () => {
    await assert.rejects(call("probe.online"), { code: "MASTER_UNREACHABLE" });
  });

  it("explains wrong arguments with the function's documentation, and anything else as an exception", async () => {
    const error = await call("probe.plain").catch((fault: unknown) => fault);
    const text = failureText(functions, "runner", "probe.plain", error);
    assert.match(text, /^\nPassed invalid arguments: plain\(\) missing 1 .*\n\nUsage:\n\n {4}Shows its arguments\.\n/);
    const broken = failureText(functions, "wheel", "probe.plain", new Error("disk full"));
    assert.equal(broken, "Exception occurred in wheel probe.plain: disk full");
  });
});
