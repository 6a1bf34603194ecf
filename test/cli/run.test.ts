import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { encode } from "../../src/wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";
import { FakeMaster } from "../client/fake-master.ts";
import { TestHost } from "./test-host.ts";

const jid = "20261120155553671842";

describe("saltworks run", () => {
  let master: FakeMaster;
  let answer: { readonly value: Encodable; readonly success: boolean; readonly code?: string };
  const run = async (...argv: string[]): Promise<TestHost & { code: number }> => {
    const host = new TestHost();
    const code = await dispatch(["run", "-c", master.folder, ...argv], host);
    return Object.assign(host, { code });
  };
  const asked = (): ValueMap | undefined => master.requests.at(-1);

  beforeEach(async () => {
    master = await FakeMaster.start({
      runner: (load) => ({
        tag: `salt/run/${jid}`,
        jid,
        data: {
          fun: `runner.${String(load.get("fun"))}`,
          jid,
          return: answer.value,
          success: answer.success,
          code: answer.code ?? "",
        },
      }),
    });
  });
  afterEach(() => master.stop());

  it("asks the master and shows the value itself", async () => {
    answer = { value: ["es1", "es2"], success: true };
    const shown = await run("manage.up", "tgt=es*", "--out=json");
    assert.equal(shown.out, '[\n    "es1",\n    "es2"\n]\n');
    assert.equal(shown.code, 0);
    assert.equal(asked()?.get("fun"), "manage.up");
    assert.deepEqual(asked()?.get("arg"), [
      new Map<unknown, unknown>([
        ["__kwarg__", true],
        ["tgt", "es*"],
      ]),
    ]);
  });

  it("gives -t to functions that wait for minions, unless they are told otherwise", async () => {
    answer = { value: [], success: true };
    assert.equal((await run("-t", "2", "manage.down")).out, "");
    assert.deepEqual(asked()?.get("kwarg"), new Map([["timeout", 2]]));
    await run("-t", "2", "manage.down", "timeout=7");
    assert.deepEqual(asked()?.get("kwarg"), new Map());
    await run("-t", "2", "jobs.list_jobs");
    assert.deepEqual(asked()?.get("kwarg"), new Map());
  });

  it("starts a function without waiting for it, and warns where its result will be", async () => {
    const started = await run("--async", "manage.up", "es*");
    assert.equal(started.out, "");
    assert.match(
      started.err,
      /^\[WARNING \] Running in asynchronous mode\. .* running under tag salt\/run\/20261120155553671842\n$/,
    );
    assert.equal(started.code, 0);
    assert.equal(asked()?.has("sync"), false);
    assert.deepEqual(asked()?.get("arg"), ["es*"]);
    assert.equal((await run("--async", "-l", "error", "manage.up")).err, "");
    assert.equal((await run("--async", "--out=json", "manage.up")).out, "", "there is no result yet");
    const unknown = await run("--async", "nosuch.fun");
    assert.deepEqual([unknown.out, unknown.code], ["'nosuch.fun' is not available.\n", 1]);
  });

  it("says at once that --async finds no master, with a login and with the local key", {
    timeout: 10_000,
  }, async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    const file = join(master.folder, "master");
    writeFileSync(file, readFileSync(file, "utf8").replace(/^ret_port:.*$/m, `ret_port: ${port}`));
    const login = ["--auth=pam", "--username=ann", "--password=secret"];
    for (const words of [[], login]) {
      const { out, code } = await run(...words, "--async", "manage.up");
      assert.match(out, /The salt master could not be contacted\. Is master running\?\n$/);
      assert.equal(code, 1);
    }
    assert.equal(master.requests.length, 0);
  });

  it("asks for the job id that it is given", async () => {
    answer = { value: true, success: true };
    await run("--jid", jid, "manage.up");
    assert.equal(asked()?.get("__jid__"), jid);
    await run("--jid", jid, "--async", "manage.up");
    assert.equal(asked()?.get("__jid__"), jid);
    const wrong = await run("--jid", "abc", "manage.up");
    assert.match(wrong.err, /salt-run: error: 'abc' is not a valid JID\n$/);
    assert.equal(wrong.code, 64);
  });

  it("documents one function, one runner or all of them without a master", async () => {
    const one = await run("-d", "manage.up");
    assert.match(one.out, /^manage\.up:\n\n {4}\S/);
    assert.equal(one.out.match(/^\S+:$/gm)?.length, 1);
    const names = (await run("-d", "manage")).out.match(/^\S+:$/gm) ?? [];
    assert.ok(names.length > 1 && names.every((name) => name.startsWith("manage.")));
    assert.ok(((await run("--doc")).out.match(/^\S+:$/gm)?.length ?? 0) > names.length);
    assert.deepEqual((await run("-d", "manage.u*")).out.match(/^\S+:$/gm), ["manage.up:"]);
    assert.deepEqual([(await run("-d", "man")).out, (await run("-d", "man")).code], ["", 0]);
    assert.equal((await run("-d", "manage.up", "manage.down")).code, 64);
    assert.equal(asked(), undefined);
  });

  it("shows nothing but errors with --quiet", async () => {
    answer = { value: ["es1"], success: true };
    assert.equal((await run("--quiet", "manage.up")).out, "");
  });

  it("shows results of state runs as such", async () => {
    const state = { name: "x", result: true, changes: {}, comment: "fine", __run_num__: 0, __id__: "x", duration: 1.5 };
    const data = { es1: { "test_|-x_|-x_|-nop": state } };
    answer = { value: { data, outputter: "highstate" }, success: true };
    assert.match((await run("jobs.lookup_jid", jid)).out, /^es1:\n-{10}\n {10}ID: x\n/);
  });

  it("explains what it cannot run in Salt's words and with its codes", async () => {
    answer = { value: "'nosuch.fun' is not available.", success: false };
    const unknown = await run("nosuch.fun");
    assert.deepEqual([unknown.out, unknown.code], ["'nosuch.fun' is not available.\n", 1]);
    answer = { value: "'jobs.list_j' is not available.", success: false };
    const begun = await run("jobs.list_j");
    assert.deepEqual(begun.out.match(/^\S+:$/gm), ["jobs.list_job:", "jobs.list_jobs:", "jobs.list_jobs_filter:"]);
    assert.equal(begun.code, 1);
    answer = { value: "'jobs.lst_jobs' is not available.", success: false };
    const mistyped = await run("jobs.lst_jobs");
    assert.deepEqual([mistyped.err, mistyped.code], ["Did you mean jobs.list_jobs?\n", 1]);
    const missing = "lookup_jid() missing 1 required positional argument: 'jid'";
    answer = { value: `\nPassed invalid arguments: ${missing}\n\nUsage:\n\n    Return values`, success: false };
    const wrong = await run("jobs.lookup_jid");
    assert.match(wrong.out, /^\nPassed invalid arguments: lookup_jid\(\) missing .*\n\nUsage:\n\n {4}Return values/);
    assert.equal(wrong.code, 0);
    answer = { value: "\nPassed invalid arguments: up() got an unexpected keyword argument 'x'", success: false };
    assert.match((await run("manage.up", "x=1")).out, /^manage\.up:\n {4}\n {8}Ids of the minions/);
    answer = { value: `Batch ${jid} cannot be paused: it is over.`, success: false, code: "JOB_STATE" };
    const late = await run("jobs.pause", jid);
    assert.deepEqual([late.out, late.code], [`Batch ${jid} cannot be paused: it is over.\n`, 1]);
    answer = { value: "Exception occurred in runner manage.up: it broke", success: false };
    const broken = await run("manage.up");
    assert.deepEqual([broken.out, broken.code], ["Exception occurred in runner manage.up: it broke\n", 1]);
    assert.equal((await run("--quiet", "manage.up")).out, "");
  });

  it("ends with the retcode of a function's result, and shows the result all the same", async () => {
    answer = { value: { Skipped: 3, retcode: 1 }, success: true };
    const { out, code } = await run("jobs.migrate", "from=local_cache", "to=mysql", "--out=json");
    assert.deepEqual([JSON.parse(out), code], [{ Skipped: 3, retcode: 1 }, 1]);
    answer = { value: { retcode: "text" }, success: true };
    assert.equal((await run("jobs.list_jobs")).code, 0);
  });

  it("documents its functions when none is named", async () => {
    const { out, code } = await run();
    assert.match(out, /^jobs\.active:\n {4}\n {8}\S/m);
    assert.match(out, /^manage\.up:\n {4}\n {8}\S/m);
    assert.equal(code, 0);
  });

  it("reads the job cache itself while the master is down, and only that", async () => {
    await master.closeBus();
    const store = openLmdbJobCache({ path: `${master.config.cachedir}/jobs.lmdb`, shards: 1, durability: "commit" });
    const load = { fun: "cmd.run", arg: ["echo hi"], tgt: "es*", tgt_type: "glob", user: "root", jid };
    await store.keepJobs([{ jid, load: encode(load, "bin"), minions: ["es1", "es2"] }]);
    const body = encode({ return: "hi", retcode: 0, success: true }, "bin");
    await store.keepReturns([{ jid, minionId: "es1", body }]);
    await store.close();
    assert.equal((await run("jobs.lookup_jid", jid)).out, "es1:\n    hi\n");
    const missing = await run("jobs.lookup_jid", jid, "missing=True");
    assert.equal(missing.out, "es1:\n    hi\nes2:\n    Minion did not return\n");
    assert.match(
      (await run("jobs.list_jobs")).out,
      /^20261120155553671842:\n {4}-{10}\n {4}Arguments:\n {8}- echo hi\n/,
    );
    assert.match((await run("jobs.lookup_jid")).out, /^\nPassed invalid arguments: lookup_jid\(\)/);
    const up = await run("manage.up");
    const text = "Exception occurred in runner manage.up: The salt master could not be contacted. Is master running?\n";
    assert.deepEqual([up.out, up.code], [text, 1]);
  });
});
