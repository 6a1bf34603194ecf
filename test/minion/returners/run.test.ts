import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadReturners, returnerDocs } from "../../../src/minion/returners/registry.ts";
import { failureTag } from "../../../src/minion/returners/run.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { mustPass, passTo, sampleReturn } from "./passing.ts";

describe("passOn", { timeout: 60_000 }, () => {
  let directory = "";
  before(() => {
    directory = mkdtempSync(join(tmpdir(), "sw-run-"));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));
  const file = (name: string) => join(directory, name);

  it("reports a failure in the log, on the minion's bus and on the master's, and goes on", async () => {
    const passed = await passTo(["nosuch", "rawfile_json", "local"], { "rawfile_json.filename": directory });
    assert.deepEqual([...passed.failures.keys()], ["nosuch", "rawfile_json"]);
    assert.match(passed.failures.get("rawfile_json") ?? "", /EISDIR/);
    assert.equal(
      passed.logged[0],
      "The return failed for job 20261123200000000001: nosuch: 'nosuch.returner' is not available.",
    );
    const events = passed.asked.filter(({ tag }) => tag === failureTag("unit"));
    assert.deepEqual(
      events.map(({ call }) => call),
      ["fireMinion", "fireMaster", "fireMinion", "fireMaster"],
    );
    const { returner, error, jid } = (events[0]?.data ?? {}) as Record<string, unknown>;
    assert.deepEqual([returner, error, jid], ["nosuch", "'nosuch.returner' is not available.", "20261123200000000001"]);
    assert.equal(passed.printed.length, 1);
  });

  it("ends a returner at its deadline", async () => {
    execFileSync("mkfifo", [file("pipe")]);
    const options = { "rawfile_json.filename": file("pipe") };
    const { failures } = await passTo(["rawfile_json"], options, sampleReturn(), { timeoutMs: 200 });
    assert.equal(failures.get("rawfile_json"), "not done after 0.2 seconds");
    // Ends the open call, which otherwise keeps this process.
    await readFile(file("pipe"));
  });

  it("takes settings as Salt does: ret_kwargs, then ret_config, then maps, then dotted names, then pillar", async () => {
    const written: string[] = [];
    const attempt = async (name: string, options: Parameters<typeof passTo>[1], ret: ValueMap, pillar?: ValueMap) => {
      const { failures } = await passTo(["rawfile_json"], options, ret, pillar === undefined ? {} : { pillar });
      assert.deepEqual([...failures], []);
      assert.ok(readFileSync(file(name)).length > 0, name);
      written.push(name);
    };
    const all = {
      "rawfile_json.filename": file("dotted"),
      "alt.rawfile_json.filename": file("alternative"),
      rawfile_json: { filename: file("map") },
    };
    const ret = (more: { readonly [name: string]: Value }) => sampleReturn(more);
    const kwargs = new Map([["filename", file("kwargs")]]);
    await attempt("kwargs", all, ret({ ret_config: "alt", ret_kwargs: kwargs }));
    await attempt("alternative", all, ret({ ret_config: "alt" }));
    await attempt("map", all, ret({ ret_config: "other" }));
    await attempt("dotted", { "rawfile_json.filename": file("dotted") }, ret({}));
    await attempt("pillar", {}, ret({}), new Map([["rawfile_json.filename", file("pillar")]]));
    assert.equal(written.length, 5);
  });

  it("writes JSON as Python does", async () => {
    const options = { "rawfile_json.filename": file("python") };
    const value: Value = new Map<Value, Value>([
      ["é😀", [1, 1.5, null, "a\u2028\x7f"]],
      [1, true],
    ]);
    await mustPass(["rawfile_json"], options, sampleReturn({ return: value, fun_args: ["a b"] }));
    assert.equal(
      readFileSync(file("python"), "utf8"),
      '{"success": true, "return": {"é😀": [1, 1.5, null, "a\u2028\x7f"], "1": true}, "retcode": 0, "jid": "20261123200000000001", "fun": "test.ping", "fun_args": ["a b"], "user": "root", "id": "es1.example"}\n',
    );
  });

  it("local prints the return as Python would", async () => {
    const { printed } = await mustPass(["local"], {});
    assert.deepEqual(printed, [
      "{'success': True, 'return': True, 'retcode': 0, 'jid': '20261123200000000001', 'fun': 'test.ping', 'fun_args': [], 'user': 'root', 'id': 'es1.example'}",
    ]);
  });

  it("local_cache keeps the first return of a job in Salt's layout, and warns of a different one", async () => {
    const cachedir = file("cache");
    await mustPass(["local_cache"], { cachedir }, sampleReturn({ out: "nested" }));
    const second = await mustPass(["local_cache"], { cachedir }, sampleReturn({ return: false }));
    assert.match(second.logged.join("\n"), /second different return of job 20261123200000000001/);
    const digest = createHash("sha256").update("20261123200000000001").digest("hex");
    const kept = join(cachedir, "jobs", digest.slice(0, 2), digest.slice(2), "es1.example");
    const members = [
      ["return", true],
      ["retcode", 0],
      ["success", true],
    ];
    assert.deepEqual([...(decode(readFileSync(join(kept, "return.p"))) as ValueMap)], members);
    assert.equal(decode(readFileSync(join(kept, "out.p"))), "nested");
  });

  it("multi_returner passes to all of its list, and names the failed ones", async () => {
    const options = {
      multi_returner: ["nosuch", "local", "multi_returner", "rawfile_json"],
      "rawfile_json.filename": file("multi"),
    };
    const { failures, printed } = await passTo(["multi_returner"], options);
    assert.equal(
      failures.get("multi_returner"),
      "nosuch: 'nosuch.returner' is not available.; multi_returner: multi_returner passes returns to itself",
    );
    assert.equal(printed.length, 1);
    assert.ok(readFileSync(file("multi")).length > 0);
  });

  it("leaves disabled returners out of the table and of what sys shows", () => {
    const table = loadReturners({ disable_returners: ["local"] });
    assert.equal(table.has("local"), false);
    assert.ok(returnerDocs(table).has("rawfile_json.returner"));
    assert.equal(returnerDocs(table).has("local.returner"), false);
  });
});
