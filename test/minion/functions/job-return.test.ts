import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import {
  argumentError,
  commandError,
  commandNotFound,
  invocationError,
  pythonException,
} from "../../../src/minion/functions/errors.ts";
import { type JobReturn, runJob } from "../../../src/minion/functions/job-return.ts";
import type { ModuleFunction } from "../../../src/minion/functions/module-contract.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../../../src/wire/values.ts";
import { makeSurroundings } from "../surroundings.ts";

const directory = mkdtempSync(join(tmpdir(), "sw-return-"));
after(() => rm(directory, { recursive: true, force: true }));

type Definition = Partial<ModuleFunction> & Pick<ModuleFunction, "run">;
const functions: { readonly [name: string]: Definition } = {
  "test.ping": { run: () => true },
  "test.echo": { params: [{ name: "text" }], doc: "\n    Echoes.\n    ", run: (_, { named }) => named.text },
  "test.code": {
    run: (context) => {
      context.setRetcode(3);
      return "out";
    },
  },
  "test.hint": { outputter: "highstate", run: () => ({ a: 1 }) },
  "test.fails": { run: () => ({ result: false }) },
  "test.unsuccessful": { run: () => new Map([["success", 0]]) },
  "test.successful": { run: () => new Map([["success", true]]) },
  "test.command": { run: () => Promise.reject(commandError("no disk")) },
  "test.missing": { run: () => Promise.reject(commandNotFound("tool")) },
  "test.invocation": { outputter: "x", run: () => Promise.reject(invocationError("not so")) },
  "test.type": { doc: "\n    Doc.", run: () => Promise.reject(argumentError("f() odd")) },
  "test.python": { run: () => Promise.reject(pythonException("KeyError", "'k'")) },
  "test.bug": { run: () => Promise.reject(new RangeError("oops")) },
  "test.nested": { run: (context) => context.callFunction("test.echo", ["inner"]) },
};

async function run(load: { readonly [name: string]: Encodable }, more: Parameters<typeof makeSurroundings>[2] = {}) {
  const made = await makeSurroundings(functions, directory, more);
  const whole = decode(
    encode({ tgt: "*", jid: "20260101000000000000", arg: [], ret: "", user: "root", ...load }, "bin"),
  );
  const result = await runJob(made.surroundings, whole as ValueMap);
  const sent = decode(encode(result as Encodable, "bin")) as ValueMap;
  return { ...made, result, sent, order: [...sent.keys()] };
}

const pick = (result: JobReturn) => [result.success, result.return, result.retcode, result.out];

describe("runJob", () => {
  it("makes a return with Salt's members in Salt's order", async () => {
    const { order, sent } = await run({ fun: "test.echo", arg: ["hello"], metadata: { who: "me" }, master_id: "m" });
    assert.deepEqual(order, [
      "success",
      "return",
      "retcode",
      "jid",
      "fun",
      "fun_args",
      "user",
      "master_id",
      "metadata",
    ]);
    assert.equal(sent.get("return"), "hello");
    assert.deepEqual(sent.get("fun_args"), ["hello"]);
    const plain = await run({ fun: "test.ping" });
    assert.deepEqual(plain.order, ["success", "return", "retcode", "jid", "fun", "fun_args", "user"]);
  });

  it("leaves out metadata that is not a map, as Salt does", async () => {
    assert.equal((await run({ fun: "test.ping", metadata: "text" })).sent.has("metadata"), false);
  });

  it("takes the function's retcode, and 1 for a map that says failure", async () => {
    assert.deepEqual(pick((await run({ fun: "test.code" })).result), [false, "out", 3, undefined]);
    assert.equal((await run({ fun: "test.fails" })).result.retcode, 1);
    assert.equal((await run({ fun: "test.unsuccessful" })).result.retcode, 1);
    assert.equal((await run({ fun: "test.successful" })).result.retcode, 0);
  });

  it("sends a function's outputter last, but not over the one of an error", async () => {
    const { order, sent } = await run({ fun: "test.hint" });
    assert.deepEqual([order.at(-1), sent.get("out")], ["out", "highstate"]);
    assert.equal((await run({ fun: "test.invocation" })).sent.get("out"), "nested");
  });

  it("answers each kind of failure with Salt's text", async () => {
    const cases: [string, string][] = [
      ["test.command", "ERROR: no disk"],
      ["test.missing", "Command required for 'test.missing' not found: tool"],
      ["test.invocation", "ERROR executing 'test.invocation': not so"],
      ["test.type", "Passed invalid arguments to test.type: f() odd\n\n    Doc."],
    ];
    for (const [fun, text] of cases) {
      const { result, asked } = await run({ fun });
      assert.deepEqual(pick(result), [false, text, 1, "nested"]);
      assert.deepEqual(asked, []);
    }
    const missing = await run({ fun: "test.echo" });
    assert.equal(
      missing.result.return,
      "Passed invalid arguments to test.echo: echo() missing 1 required positional argument: 'text'\n\n    Echoes.\n    ",
    );
    const keyword = new Map<Value, Value>([
      ["__kwarg__", true],
      ["foo", "bar"],
    ]);
    assert.equal(
      (await run({ fun: "test.ping", arg: [keyword] })).result.return,
      "ERROR executing 'test.ping': The following keyword arguments are not valid: foo=bar",
    );
  });

  it("shows other exceptions as a traceback, and fires them on the bus", async () => {
    for (const [fun, last] of [
      ["test.python", "KeyError: 'k'"],
      ["test.bug", "RangeError: oops"],
    ]) {
      const { result, asked } = await run({ fun });
      const text = String(result.return);
      assert.ok(
        text.startsWith("The minion function caused an exception: Traceback (most recent call last):\n  File "),
      );
      assert.ok(text.endsWith(`\n${last}\n`), text);
      assert.equal(result.retcode, 1);
      assert.deepEqual(
        asked.map(({ tag }) => tag),
        ["_salt_error"],
      );
    }
  });

  it("answers an unknown function as Salt does, with documentation if the name begins others", async () => {
    const { order, sent } = await run({ fun: "test.pin" });
    assert.deepEqual(order.slice(0, 5), ["success", "return", "retcode", "out", "jid"]);
    assert.equal(sent.get("return"), "'test.pin' is not available.");
    const made = await makeSurroundings(
      {
        "sys.doc": {
          params: [{ name: "name" }],
          run: (_, { named }) => (named.name === "test.pin*" ? { "test.ping": "Doc" } : {}),
        },
      },
      directory,
    );
    const load: ValueMap = new Map<Value, Value>([
      ["fun", "test.pin"],
      ["jid", "1"],
      ["arg", []],
    ]);
    const result = await runJob(made.surroundings, load);
    assert.deepEqual(result.return, { "test.ping": "Doc", "test.pin": "'test.pin' is not available." });
  });

  it("runs several functions and goes on after one that fails", async () => {
    const { order, sent } = await run({
      fun: ["test.ping", "test.echo", "nosuch.fun", "test.code"],
      arg: [[], [], [], []],
      metadata: { a: 1 },
    });
    assert.deepEqual(order, ["return", "retcode", "success", "jid", "fun", "fun_args", "user", "metadata"]);
    const returns = sent.get("return") as ValueMap;
    assert.equal(returns.get("test.ping"), true);
    assert.match(String(returns.get("test.echo")), /^Traceback [\s\S]*TypeError: echo\(\) missing 1 required/);
    assert.match(String(returns.get("nosuch.fun")), /TypeError: 'str' object is not callable\n$/);
    assert.deepEqual(
      sent.get("retcode"),
      new Map([
        ["test.ping", 0],
        ["test.code", 3],
      ]),
    );
    assert.deepEqual(
      sent.get("success"),
      new Map([
        ["test.ping", true],
        ["test.echo", false],
        ["nosuch.fun", false],
        ["test.code", false],
      ]),
    );
  });

  it("returns lists for several functions with multifunc_ordered", async () => {
    const { sent } = await run(
      { fun: ["test.ping", "test.ping"], arg: [[], []] },
      { options: { multifunc_ordered: true } },
    );
    assert.deepEqual(
      [sent.get("return"), sent.get("retcode"), sent.get("success")],
      [
        [true, true],
        [0, 0],
        [true, true],
      ],
    );
  });

  it("refuses all but the allowed functions in a blackout, from pillar or grains", async () => {
    const facts = new Map<Value, Value>([
      ["minion_blackout", true],
      ["minion_blackout_whitelist", ["test.code"]],
    ]);
    for (const source of [{ pillar: facts }, { grains: facts }]) {
      assert.match(
        String((await run({ fun: "test.ping" }, { facts: source })).result.return),
        /^ERROR executing 'test.ping': Minion in blackout mode\./,
      );
      assert.equal((await run({ fun: "test.code" }, { facts: source })).result.return, "out");
    }
  });

  it("refuses executors that do not exist", async () => {
    const { result } = await run({ fun: "test.ping", module_executors: ["sudo"] });
    assert.equal(result.return, "ERROR executing 'test.ping': Executor 'sudo' is not available");
    assert.equal((await run({ fun: "test.ping", module_executors: ["direct_call"] })).result.return, true);
  });

  it("lets a function call others", async () => {
    assert.equal((await run({ fun: "test.nested" })).result.return, "inner");
  });
});
