import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runnerFunctions } from "../../../src/runners/registry.ts";
import { wheelFunctions } from "../../../src/runners/wheel.ts";
import type { Value } from "../../../src/wire/values.ts";
import { callRunner, runnerContext } from "../calling.ts";
import { keptEvents } from "../kept-events.ts";
import { masterAccess } from "../master-access.ts";

const jid = "20260101000000000000";

describe("runner test", () => {
  it("gives arguments back, without the fields that Salt adds unless asked raw", async () => {
    const given = { k: 1, __pub_user: "root" };
    const plain = { args: ["a", 1], kwargs: { k: 1 } };
    assert.deepEqual(await callRunner(runnerContext(), "test.arg", ["a", 1], given), plain);
    const raw = { args: ["a", 1], kwargs: given };
    assert.deepEqual(await callRunner(runnerContext(), "test.raw_arg", ["a", 1], given), raw);
  });

  it("prints to its caller under a tag of its own, and counts its events", async () => {
    const { fired, fire } = keptEvents();
    const callerEvents = { count: 0 };
    const context = { ...runnerContext({ master: masterAccess({ fire }) }), callerEvents };
    assert.equal(await callRunner(context, "test.stdout_print"), "bar");
    assert.deepEqual(fired, [[`saltworks/run/${jid}/print`, new Map([["text", "foo\n"]])]]);
    assert.equal(callerEvents.count, 1);
  });

  it("refuses to sleep for ever", async () => {
    const context = runnerContext({ master: masterAccess({}) });
    for (const seconds of [-1, 86_401, "long"])
      await assert.rejects(callRunner(context, "test.sleep", [seconds]), { code: "FUNCTION_ARGUMENTS" });
  });
});

describe("runner config", () => {
  const opts = new Map<string, unknown>([
    ["timeout", 7],
    ["mysql.pass", "s3cret"],
    ["nested", { list: [{ name: "first" }, { other: 2 }] }],
  ]);
  const context = runnerContext({ config: { opts } });
  const get = (...args: Value[]) => callRunner(context, "config.get", args);

  it("finds options by path, through lists too, or gives the default", async () => {
    assert.equal(await get("timeout"), 7);
    assert.equal(await get("nested:list:other"), 2);
    assert.equal(await get("nested/list/0/name", "", "/"), "first");
    assert.equal(await get("nosuch"), "");
    assert.equal(await get("nosuch:deeper", 5), 5);
  });

  it("shows no secret", async () => {
    assert.equal(await get("mysql.pass"), "**********");
  });
});

describe("runner event", () => {
  it("fires a map under the tag, and refuses anything else", async () => {
    const { fired, fire } = keptEvents();
    const context = runnerContext({ master: masterAccess({ fire }) });
    assert.equal(await callRunner(context, "event.send", ["my/tag", new Map([["a", 1]])]), true);
    assert.equal(await callRunner(context, "event.send", ["bare"]), true);
    assert.deepEqual(fired, [
      ["my/tag", new Map([["a", 1]])],
      ["bare", new Map()],
    ]);
    await assert.rejects(callRunner(context, "event.send", ["my/tag", "text"]), { code: "FUNCTION_ARGUMENTS" });
  });
});

describe("runners that this master cannot serve", () => {
  it("fail with their names", async () => {
    const context = runnerContext({ master: masterAccess({}), config: { file_roots: { base: ["/nowhere"] } } });
    const refused = (name: string, args: Value[], message: RegExp) =>
      assert.rejects(callRunner(context, name, args), { code: "FUNCTION_FAILED", message });
    await refused("state.event", [], /command line/);
    await refused("salt.cmd", ["test.ping"], /command line/);
    assert.deepEqual(await callRunner(context, "saltutil.sync_runners"), []);
  });
});

describe("the documentation of functions", () => {
  it("exists for each, sorted, with its parameters", async () => {
    const docs = (await callRunner(runnerContext(), "doc.runner")) as Record<string, string>;
    assert.deepEqual(Object.keys(docs), [...runnerFunctions.keys()].sort());
    assert.match(docs["cache.fetch"] ?? "", /^\n {4}\S.*\n\n {4}Synopsis: cache\.fetch BANK KEY \[cachedir=\]\n/);
    const wheels = (await callRunner(runnerContext(), "doc.wheel")) as Record<string, string>;
    assert.deepEqual(Object.keys(wheels), [...wheelFunctions.keys()].sort());
    for (const [name, doc] of [...Object.entries(docs), ...Object.entries(wheels)])
      assert.match(doc, /^\n {4}[A-Z].*[.:)]/, name);
  });
});

describe("runner salt", () => {
  it("executes with arguments and keywords, and gives return values or, on request, whole returns", async () => {
    const asked: unknown[] = [];
    const master = masterAccess({
      runJob: async ({ fun, arg, target, targetKind, timeoutMs }) => {
        asked.push([fun, arg, target, targetKind, timeoutMs]);
        const returns = new Map<string, Value>([["es1", false]]);
        return { jid: "j", minions: ["es1", "es2"], returns, retcodes: new Map([["es1", 3]]), silent: {} };
      },
    });
    const context = runnerContext({ master });
    const keywords = new Map<Value, Value>([["x", 1]]);
    const result = await callRunner(context, "salt.execute", ["es*", "test.fib"], {
      arg: [3],
      kwarg: keywords,
      timeout: 9,
    });
    assert.deepEqual(result, { es1: false });
    const marked = new Map<Value, Value>([["__kwarg__", true], ...keywords]);
    assert.deepEqual(asked, [["test.fib", [3, marked], "es*", "glob", 9_000]]);
    const whole = await callRunner(context, "salt.execute", ["es*", "test.fib"], { full_return: true });
    assert.deepEqual(whole, { es1: { ret: false, retcode: 3, jid: "j" } });
  });
});
