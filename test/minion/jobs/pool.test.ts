import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { ConfigValue } from "../../../src/config/yaml/values.ts";
import { JobRecords } from "../../../src/minion/functions/job-records.ts";
import { JobPool } from "../../../src/minion/jobs/pool.ts";
import { failureTag } from "../../../src/minion/returners/run.ts";
import type { Encodable, Value, ValueMap } from "../../../src/wire/values.ts";
import { makeSetting, type Setting } from "../setting.ts";

type Open = {
  readonly pool: JobPool;
  readonly setting: Setting;
  readonly records: JobRecords;
  readonly returns: ValueMap[];
  readonly fired: string[];
  readonly returned: (count: number) => Promise<ValueMap[]>;
};

/** A scheduled job without returners. */
const plain = { returners: [], choice: new Map<Value, Value>() };

let jidCount = 0;
function job(fun: string, arg: Value[] = []): ValueMap {
  jidCount += 1;
  return new Map<Value, Value>([
    ["fun", fun],
    ["arg", arg],
    ["tgt", "*"],
    ["jid", `2026010100000000${String(jidCount).padStart(4, "0")}`],
    ["ret", ""],
  ]);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe("JobPool", { timeout: 180_000 }, () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  async function open(
    options: { readonly [name: string]: ConfigValue } = {},
    extrasUrl: string | undefined = undefined,
  ): Promise<Open> {
    const setting = makeSetting(options);
    const records = await JobRecords.open(setting.config.cachedir);
    const returns: ValueMap[] = [];
    const fired: string[] = [];
    let onReturn = () => undefined as unknown;
    const pool = new JobPool({
      config: setting.config,
      environment: { ...process.env },
      extrasUrl,
      host: {
        fireMaster: async (tag) => fired.push(tag) > 0,
        fireMinion: async (tag) => void fired.push(tag),
        setGrains: async () => undefined,
        masterRequest: async () => "from the master" as Encodable as Value,
        compilePillar: async () => new Map<Value, Value>([["fresh", true]]),
      },
      records,
      log: setting.log,
      onReturn: (result) => {
        returns.push(result);
        onReturn();
      },
    });
    closers.push(
      () => pool.close(),
      () => setting.remove(),
    );
    const returned = async (count: number): Promise<ValueMap[]> => {
      while (returns.length < count) await new Promise<void>((resolve) => (onReturn = resolve as () => undefined));
      return returns;
    };
    return { pool, setting, records, returns, fired, returned };
  }

  it("runs jobs one after the other in one warm process", async () => {
    const { pool, returned, setting } = await open();
    pool.warm();
    for (let count = 1; count <= 5; count += 1) {
      pool.submit(job("cmd.run", ["echo $PPID"]));
      await returned(count);
    }
    const pids = (await returned(5)).map((result) => result.get("return"));
    assert.equal(new Set(pids).size, 1);
    assert.deepEqual(readdirSync(join(setting.config.cachedir, "proc")), []);
  });

  it("runs jobs beside each other, each in a process of its own", async () => {
    const { pool, records } = await open();
    for (let count = 0; count < 3; count += 1) pool.submit(job("test.sleep", [60]));
    let running = await records.running();
    while (running.length < 3) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      running = await records.running();
    }
    assert.equal(new Set(running.map((record) => record.get("pid"))).size, 3);
  });

  it("runs no more at once than process_count_max", async () => {
    const { pool, returned } = await open({ process_count_max: 1 });
    const start = Date.now();
    for (let count = 0; count < 2; count += 1) pool.submit(job("test.sleep", [1]));
    await returned(2);
    assert.ok(Date.now() - start >= 1_990, "the sleeps must not overlap");
  });

  it("records a running job; killed, it does not return, and others run on", async () => {
    const { pool, records, returned } = await open();
    const sleeper = job("test.sleep", [60]);
    const jid = String(sleeper.get("jid"));
    pool.submit(sleeper);
    let running = await records.running();
    while (running.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      running = await records.running();
    }
    assert.deepEqual([...(running[0]?.keys() ?? [])], ["pid", "fun", "arg", "tgt", "jid", "ret"]);
    assert.match(await records.signal(jid, 9), /^Signal 9 sent to job \d+ at pid \d+$/);
    pool.submit(job("test.ping"));
    const all = await returned(1);
    assert.equal(all[0]?.get("fun"), "test.ping");
    assert.deepEqual(await records.running(), []);
  });

  it("runs the next job after one was ended with SIGTERM", async () => {
    const { pool, returned, records } = await open();
    const sleeper = job("test.sleep", [60]);
    pool.submit(sleeper);
    while ((await records.running()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    // Salt's minions use SIGTERM for term_job too: no return.
    await records.signal(String(sleeper.get("jid")), 15);
    pool.submit(job("test.echo", ["after"]));
    assert.equal((await returned(1))[0]?.get("return"), "after");
  });

  it("logs why a process could not load its functions, and answers for its job", async () => {
    const { pool, returned, setting } = await open({}, "file:///nowhere/extras.js");
    pool.submit(job("test.ping"));
    assert.match(String((await returned(1))[0]?.get("return")), /the job's process ended with code 1/);
    const logged = setting.lines.map(({ msg }) => msg);
    assert.ok(logged.some((text) => /^a job process ends: Error.*'\/nowhere\/extras\.js'/.test(text)));
  });

  it("gives functions grains and pillar, the newest at each job", async () => {
    const { pool, returned } = await open();
    const facts = (os: string) => ({ grains: new Map<Value, Value>([["os", os]]), pillar: new Map() });
    pool.setFacts(facts("one"));
    pool.submit(job("grains.get", ["os"]));
    assert.equal((await returned(1))[0]?.get("return"), "one");
    pool.setFacts(facts("two"));
    pool.submit(job("grains.get", ["os"]));
    assert.equal((await returned(2))[1]?.get("return"), "two");
  });

  it("takes functions' questions to the host and brings the answers back", async () => {
    const { pool, fired, returned } = await open();
    pool.submit(job("event.send", ["a/tag", "x=1"]));
    await returned(1);
    assert.deepEqual(fired, ["a/tag"]);
    pool.submit(job("pillar.items"));
    assert.deepEqual((await returned(2))[1]?.get("return"), new Map([["fresh", true]]));
  });

  it("runs scheduled jobs with their arguments unchanged, and gives Salt's members of the return to the caller", async () => {
    const { pool, returns } = await open();
    const record = new Map<Value, Value>([
      ["id", "unit"],
      ["fun", "test.arg"],
      ["fun_args", ["a=b"]],
      ["schedule", "job1"],
      ["jid", "20260101000000009999"],
    ]);
    const result = await pool.runScheduled({ record, args: ["a=b"], kwargs: new Map([["k", 1]]), ...plain }, true);
    const order = ["id", "fun", "fun_args", "schedule", "jid", "pid", "return", "retcode", "success"];
    assert.deepEqual([...(result?.keys() ?? [])], order);
    const shown = result?.get("return") as ValueMap;
    assert.deepEqual(shown.get("args"), ["a=b"]);
    const keywords = shown.get("kwargs") as ValueMap;
    assert.equal(keywords.get("k"), 1);
    assert.equal(keywords.get("__pub_schedule"), "job1");
    const missing = await pool.runScheduled(
      { record: new Map([...record, ["fun", "no.such"]]), args: [], kwargs: new Map(), ...plain },
      true,
    );
    assert.deepEqual([missing?.get("return"), missing?.get("retcode")], ["'no.such' is not available.", 254]);
    assert.deepEqual(returns, []);
  });

  it("returns a job before its returners run, and runs them in its process", async () => {
    const { pool, returned, setting, fired, records } = await open();
    const pipe = join(setting.directory, "pipe");
    execFileSync("mkfifo", [pipe]);
    // Opening a pipe for writing waits for a reader: the returner cannot end before this test reads.
    const load = job("test.ping").set("ret", "rawfile_json,nosuch").set("user", "root");
    load.set("ret_kwargs", new Map([["filename", pipe]]));
    pool.submit(load);
    const [result] = await returned(1);
    assert.equal(result?.get("return"), true);
    const errors = result?.get("returner_errors") as ValueMap;
    assert.deepEqual([...errors], [["nosuch", "'nosuch.returner' is not available."]]);
    assert.deepEqual(await records.running(), []);
    const line = JSON.parse(readFileSync(pipe, "utf8"));
    const order = ["success", "return", "retcode", "jid", "fun", "fun_args", "user", "ret_kwargs", "id"];
    assert.deepEqual(Object.keys(line), order);
    assert.equal(line.jid, load.get("jid"));
    pool.submit(job("test.ping"));
    await returned(2);
    await until(() => fired.filter((tag) => tag === failureTag("unit")).length === 2);
  });

  it("uses the configuration's returners too, each once", async () => {
    const { pool, returned, setting } = await open({ return: ["rawfile_json", "local"] });
    const filename = join(setting.directory, "returns");
    const load = job("test.ping").set("ret", "local,rawfile_json");
    load.set("ret_kwargs", new Map([["filename", filename]]));
    pool.submit(load);
    await returned(1);
    await until(() => setting.lines.some(({ msg }) => msg.startsWith("{'success': True, 'return': True")));
    await until(() => existsSync(filename) && readFileSync(filename, "utf8").endsWith("\n"));
    assert.equal(readFileSync(filename, "utf8").split("\n").length, 2);
  });

  it("runs the returners of a scheduled job before it returns, and their failure is the job's", async () => {
    const { pool, setting } = await open();
    const record = new Map<Value, Value>([
      ["id", "unit"],
      ["fun", "test.ping"],
      ["fun_args", []],
      ["schedule", "job1"],
      ["jid", "20260101000000007777"],
    ]);
    const filename = join(setting.directory, "returns");
    const call = { record, args: [], kwargs: new Map<Value, Value>(), returners: ["rawfile_json"] };
    const choice = new Map<Value, Value>([["ret_kwargs", new Map([["filename", filename]])]]);
    const good = await pool.runScheduled({ ...call, choice }, true);
    assert.deepEqual([good?.get("success"), good?.get("retcode")], [true, 0]);
    const line = JSON.parse(readFileSync(filename, "utf8"));
    const order = ["id", "fun", "fun_args", "schedule", "jid", "pid", "return", "retcode", "success", "ret_kwargs"];
    assert.deepEqual(Object.keys(line), order);
    const wrong = new Map<Value, Value>([["ret_kwargs", new Map([["filename", setting.directory]])]]);
    const bad = await pool.runScheduled({ ...call, choice: wrong }, true);
    assert.deepEqual([bad?.get("return"), bad?.get("success"), bad?.get("retcode")], [true, false, 254]);
    const errors = bad?.get("returner_errors");
    assert.ok(errors instanceof Map);
    assert.match(String(errors.get("rawfile_json")), /EISDIR/);
  });

  it("lists a scheduled job while it runs, as Salt's proc files do, but only with isListed", async () => {
    const { pool, records, returned } = await open();
    const record = new Map<Value, Value>([
      ["id", "unit"],
      ["fun", "test.sleep"],
      ["fun_args", [600]],
      ["schedule", "long"],
      ["jid", "20260101000000008888"],
    ]);
    const call = { record, args: [600], kwargs: new Map<Value, Value>(), ...plain };
    const killed = pool.runScheduled(call, true);
    void pool.runScheduled({ ...call, record: new Map([...record, ["jid", "20260101000000008889"]]) }, false);
    pool.submit(job("test.ping"));
    await returned(1);
    const listed = await records.running();
    assert.deepEqual(
      listed.map((running) => [running.get("schedule"), running.get("fun_args")]),
      [["long", [600]]],
    );
    assert.match(await records.signal("20260101000000008888", 9), /^Signal 9 sent/);
    assert.equal(await killed, undefined);
  });

  it("runs jobs in new processes after renew", async () => {
    const { pool, returned } = await open();
    pool.submit(job("cmd.run", ["echo $PPID"]));
    await returned(1);
    pool.renew();
    pool.submit(job("cmd.run", ["echo $PPID"]));
    const [first, second] = await returned(2);
    assert.notEqual(first?.get("return"), second?.get("return"));
  });
});
