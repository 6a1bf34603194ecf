import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, before, describe, it } from "node:test";
import type { ConfigValue } from "../../../src/config/yaml/values.ts";
import { type CallRequest, parseWords, runCall } from "../../../src/minion/call/call.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { FakeMaster, type MasterKeys, makeMasterKeys } from "../fake-master.ts";
import { makeSetting, type Setting } from "../setting.ts";

type Called = {
  readonly code: number;
  readonly shown: { readonly value: Value; readonly outputter: string; readonly retcode: number }[];
  readonly out: string;
  readonly err: string;
  readonly logged: string[];
};

/** The value shown under `local`, by member. */
function localOf({ shown }: Called): ValueMap {
  const value = shown[0]?.value;
  assert.ok(value instanceof Map);
  const local = value.get("local");
  assert.ok(local instanceof Map);
  return local;
}

const local = (value: Value): Value => new Map([["local", value]]);

describe("runCall", () => {
  let keys: MasterKeys;
  const closers: (() => unknown)[] = [];
  before(async () => {
    keys = await makeMasterKeys();
  });
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  function prepare(options: { readonly [name: string]: ConfigValue } = {}): Setting {
    const setting = makeSetting(options);
    closers.push(() => setting.remove());
    return setting;
  }

  async function call(
    fun: string | undefined,
    words: string[] = [],
    more: Partial<CallRequest> = {},
    setting = prepare({ file_client: "local" }),
  ): Promise<Called> {
    const called: Called & { out: string; err: string } = { code: -1, shown: [], out: "", err: "", logged: [] };
    const request = { words, isSkippingGrains: true, ...(fun === undefined ? {} : { fun }), ...more };
    const code = await runCall(
      setting.config,
      request,
      {
        show: (value, outputter, retcode) => void called.shown.push({ value, outputter, retcode }),
        write: (text) => {
          called.out += text;
        },
        complain: (text) => {
          called.err += text;
        },
        log: (level, text) => void called.logged.push(`${level}: ${text}`),
      },
      { log: setting.log, environment: { ...process.env }, localPillar: () => new Map(), moreFunctions: new Map() },
    );
    return { ...called, code };
  }

  it("shows a value under `local` and ends with 0", async () => {
    const setting = prepare({ file_client: "local" });
    const { code, shown } = await call("test.ping", [], {}, setting);
    assert.deepEqual([code, shown], [0, [{ value: local(true), outputter: "nested", retcode: 0 }]]);
    assert.deepEqual(readdirSync(join(setting.config.cachedir, "proc")), []);
    const falsy = await call("test.false");
    assert.deepEqual([falsy.code, falsy.shown[0]?.value], [0, local(false)]);
  });

  it("reads words as values and keywords", async () => {
    const shown = localOf(await call("test.arg_clean", ["1", "two", "k=3"]));
    assert.deepEqual([shown.get("args"), shown.get("kwargs")], [[1, "two"], new Map([["k", 3]])]);
    assert.deepEqual(parseWords(["20261120155355367099", "x=", "x=2"]), [
      "20261120155355367099",
      new Map<Value, Value>([
        ["__kwarg__", true],
        ["x", 2],
      ]),
    ]);
  });

  it("ends with 1 for a retcode, or with the code itself on request", async () => {
    assert.equal((await call("test.retcode", ["42"])).code, 1);
    assert.equal((await call("test.retcode", ["42"], { isRetcodePassedThrough: true })).code, 42);
  });

  it("says that a function is not available and ends with 255", async () => {
    const { code, err, shown } = await call("nosuch.fun");
    assert.deepEqual([code, err, shown], [255, "'nosuch.fun' is not available.\n", []]);
  });

  it("answers a prefix of names with documentation", async () => {
    const called = await call("test.pin");
    assert.equal(called.code, 1);
    assert.ok(localOf(called).has("test.ping"));
    assert.equal(localOf(called).get("test.pin"), "'test.pin' is not available.");
  });

  it("explains wrong arguments with the function's documentation", async () => {
    const { code, err, out } = await call("test.echo");
    assert.equal(code, 1);
    assert.equal(err, "\nPassed invalid arguments: echo() missing 1 required positional argument: 'text'.\n\nUsage:\n");
    assert.match(out, /CLI Example/);
    const keyword = await call("test.ping", ["foo=bar"]);
    assert.deepEqual([keyword.code, keyword.err], [1, "The following keyword arguments are not valid: foo=bar\n"]);
  });

  it("explains failures: command errors in a line, others with a traceback", async () => {
    const command = await call("cmd.run", ["true", "cwd=/nosuch"]);
    assert.equal(command.code, 1);
    assert.match(command.err, /^Error running 'cmd.run': Specified cwd '\/nosuch'/);
    const broken = await call("test.exception");
    assert.equal(broken.code, 1);
    assert.match(
      broken.logged.join("\n"),
      /error: An un-handled exception was caught by Salt's global exception handler:/,
    );
    assert.match(broken.err, /^Traceback [\s\S]*\nException: Test Exception\n$/);
  });

  it("shows the job around the value with --metadata", async () => {
    const job = localOf(await call("test.echo", ["hi"], { isMetadataShown: true, metadata: "{a: 1}" }));
    assert.match(String(job.get("jid")), /^\d{20}$/);
    assert.deepEqual(
      [...job].slice(1),
      Object.entries({
        return: "hi",
        retcode: 0,
        id: "unit",
        fun: "test.echo",
        fun_args: ["hi"],
        metadata: new Map([["a", 1]]),
      }),
    );
  });

  it("prints grains and documentation", async () => {
    const grains = await call(undefined, [], { isGrains: true });
    assert.deepEqual(grains.shown[0], { value: local(new Map([["id", "unit"]])), outputter: "grains", retcode: 0 });
    const docs = await call("test.p", [], { isDoc: true });
    assert.match(docs.out, /^test\.ping:\n\n {4}\S/);
    assert.ok(!docs.out.includes("cmd.run:"));
  });

  it("with a master takes its pillar and returns the result to it as a job", async () => {
    const master = await FakeMaster.open(keys);
    closers.push(() => master.close());
    master.answers.set("_pillar", { role: "web" });
    const setting = prepare({ master_port: master.port });
    const { code, shown } = await call("pillar.get", ["role"], {}, setting);
    assert.deepEqual([code, shown[0]?.value], [0, local("web")]);
    const { load } = await master.received("_return");
    assert.deepEqual([...load.keys()].slice(0, 7), ["cmd", "id", "jid", "return", "retcode", "fun", "fun_args"]);
    assert.deepEqual([load.get("jid"), load.get("fun_args")], ["req", ["role"]]);
    await call("test.ping", [], { isReturnOff: true }, setting);
    assert.equal(master.requests.filter(({ cmd }) => cmd === "_return").length, 1);
  });

  it("does not wait for its key to be accepted", async () => {
    const master = await FakeMaster.open(keys);
    closers.push(() => master.close());
    master.verdicts = [true];
    const { code, out } = await call("test.ping", [], {}, prepare({ master_port: master.port }));
    assert.equal(code, 2);
    assert.match(out, /^Minion failed to authenticate with the master, has the minion key been accepted\?\n$/);
  });

  it("says why if no master accepts it", async () => {
    const master = await FakeMaster.open(keys);
    closers.push(() => master.close());
    master.silent.add("_auth");
    const { code, err } = await call("test.ping", [], {}, prepare({ master_port: master.port }));
    assert.equal(code, 1);
    assert.match(err, /^Unable to sign_in to master: the master did not answer/);
  });
});
