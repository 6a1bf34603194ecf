/** Runner `jobs` over a real job cache. The searches are those of the transcripts recorded from Salt, over the same jobs. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { JobRequest, RunnerContext } from "../../../src/runners/contract/contract.ts";
import { openLmdbJobCache } from "../../../src/store/drivers/lmdb/job-cache.ts";
import type { JobCache } from "../../../src/store/jobs/job-cache.ts";
import { jobDirectory } from "../../../src/store/salt/job-files.ts";
import { openLocalCache, writeLoadFiles } from "../../../src/store/salt/local-cache.ts";
import { withLocalCache } from "../../../src/store/salt/merged-reader.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../../src/wire/values.ts";
import { loadOf, returnOf } from "../../contract/job-samples.ts";
import { goldenPath } from "../../golden/path.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { callRunner, runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

type Fields = Readonly<Record<string, Encodable>>;

const jid = "20261120155553671842";
const asked = { cmd: "publish", tgt: "es*", fun: "cmd.run", arg: ["echo hi"], tgt_type: "glob", ret: "", user: "root" };

async function putJob(
  cache: JobCache,
  id: string,
  load: Fields,
  minions: string[],
  returns: Readonly<Record<string, Fields>> = {},
): Promise<void> {
  await cache.keepJobs([{ jid: id, load: encode({ ...load, jid: id }, "bin"), minions }]);
  for (const [minionId, fields] of Object.entries(returns)) {
    const body = encode({ cmd: "_return", id: minionId, jid: id, ...fields }, "bin");
    await cache.keepReturns([{ jid: id, minionId, body }]);
  }
}

const pair = (map: Readonly<Record<string, Value>>): Value => new Map<Value, Value>(Object.entries(map));

describe("runner jobs", () => {
  const temporary = temporaryDirectories();
  let cache: JobCache;
  let context: RunnerContext;
  before(async () => {
    cache = openLmdbJobCache({ path: join(temporary(), "jobs"), shards: 1, durability: "commit" });
    context = runnerContext({ jobs: cache });
    await putJob(cache, jid, asked, ["es2", "es1"], { es1: { return: "hi", retcode: 0, success: true } });
  });
  after(() => cache.close());

  it("looks up the return values of a job, with the missing and without the returned on request", async () => {
    const missing = { es2: "Minion did not return" };
    assert.deepEqual(await callRunner(context, "jobs.lookup_jid", [jid]), { es1: "hi" });
    assert.deepEqual(await callRunner(context, "jobs.lookup_jid", [jid], { missing: true }), { es1: "hi", ...missing });
    assert.deepEqual(await callRunner(context, "jobs.lookup_jid", [jid], { missing: true, returned: false }), missing);
    assert.deepEqual(await callRunner(context, "jobs.lookup_jid", ["notajid"]), {});
  });

  it("prints a job with Salt's headings, and says in Salt's words that one is unknown", async () => {
    assert.deepEqual(await callRunner(context, "jobs.print_job", [jid]), {
      [jid]: {
        Function: "cmd.run",
        Arguments: ["echo hi"],
        Target: "es*",
        "Target-type": "glob",
        User: "root",
        Minions: ["es1", "es2"],
        StartTime: "2026, Nov 20 15:55:53.671842",
        Result: { es1: { return: "hi", retcode: 0, success: true } },
      },
    });
    assert.deepEqual(await callRunner(context, "jobs.list_job", ["20200101000000000000"]), {
      jid: "20200101000000000000",
      Error: "Cannot contact returner or no job with this jid",
      StartTime: "2020, Jan 01 00:00:00.000000",
      Result: {},
    });
  });

  it("brings the outputter that a return names, and takes any value that is not empty as success", async () => {
    const stateJid = "20261120155555511892";
    await putJob(cache, stateJid, { ...asked, fun: "state.single" }, ["a", "b", "c"], {
      a: { return: { x: { result: false } }, out: "highstate", retcode: 2 },
      b: { return: "", retcode: 0 },
    });
    assert.deepEqual(await callRunner(context, "jobs.lookup_jid", [stateJid]), {
      outputter: "highstate",
      data: { a: { x: { result: false } }, b: "" },
    });
    assert.deepEqual(await callRunner(context, "jobs.exit_success", [stateJid]), { a: true, b: false, c: false });
  });

  it("asks the minions what runs, and lists the minions that have returned", async () => {
    const requests: JobRequest[] = [];
    const record = pair({ jid, fun: "cmd.run", arg: ["echo hi"], tgt: "es*", tgt_type: "glob", user: "root", pid: 42 });
    const master = masterAccess({
      runJob: async (request) => {
        requests.push(request);
        return {
          jid: "other",
          minions: ["es1", "es2"],
          returns: new Map<string, Value>([["es2", [record]]]),
          silent: {},
        };
      },
    });
    const running = (await callRunner(runnerContext({ jobs: cache, master }), "jobs.active")) as Record<string, Fields>;
    assert.equal(requests[0]?.fun, "saltutil.running");
    assert.deepEqual(running[jid]?.Running, [{ es2: 42 }]);
    assert.deepEqual(running[jid]?.Returned, ["es1"]);
  });

  it("lists the runner calls that run, but not itself", async () => {
    const own = { jid: runnerContext().caller?.jid ?? "", fun: "runner.jobs.master", user: "root", pid: 1 };
    const other = { jid, fun: "runner.manage.up", user: "anna", pid: 1 };
    const master = masterAccess({ runningCalls: async () => [own, other] });
    assert.deepEqual(await callRunner(runnerContext({ master }), "jobs.master"), [other]);
  });

  it("reads a Salt master's job cache through ext_source, and refuses unknown caches by name", async () => {
    const cachedir = temporary();
    const load = encode({ ...asked, jid: "20200102030405060708" }, "bin");
    writeLoadFiles({ cachedir, hashType: "sha256" }, { jid: "20200102030405060708", load, minions: ["x"] });
    const config = { cachedir, hash_type: "sha256", master_job_cache: "lmdb" };
    const { saltFiles } = withLocalCache(cache, { cachedir, hashType: "sha256", place: cachedir });
    const other = runnerContext({ jobs: cache, saltJobs: saltFiles, config });
    const listed = await callRunner(other, "jobs.list_jobs", [], {
      ext_source: "local_cache",
      search_function: "cmd.*",
    });
    assert.deepEqual(Object.keys(listed as object), ["20200102030405060708"]);
    const call = callRunner(other, "jobs.print_job", [jid], { ext_source: "mongo" });
    await assert.rejects(call, { code: "FUNCTION_FAILED", message: /no job cache mongo/ });
  });

  it("tells what of Salt's files is damaged in the same words with ext_source and without", async () => {
    const [cachedir, saltJid, lost] = [temporary(), "20200102030405060708", "20200102030405060709"];
    const files = { cachedir, hashType: "sha256" };
    const salt = openLocalCache(files);
    await salt.keepJobs([loadOf(saltJid, ["a", "b", "c"]), loadOf(lost)]);
    await salt.keepReturns(["a", "b", "c"].map((id) => returnOf(saltJid, id, id)));
    const at = (job: string, ...names: string[]) => join(jobDirectory(cachedir, "sha256", job), ...names);
    writeFileSync(at(saltJid, "a", "return.p"), Buffer.from([0x81]));
    rmSync(at(saltJid, "b", "return.p"));
    // Root may read all files, but not this one.
    symlinkSync("return.p", at(saltJid, "b", "return.p"));
    writeFileSync(at(saltJid, ".minions.p"), Buffer.from([0x91]));
    writeFileSync(at(lost, ".load.p"), Buffer.from([0x81]));
    let told: string[] = [];
    const reader = withLocalCache(cache, {
      ...files,
      place: cachedir,
      onFault: () => undefined,
      onLeftOut: (text) => told.push(text),
    });
    const other = runnerContext({ jobs: reader, saltJobs: reader.saltFiles, config: { cachedir } });
    const ask = async (name: string, asked: readonly Value[], source: Readonly<Record<string, Value>>) => {
      told = [];
      return { answer: await callRunner(other, name, asked, source), told: told.toSorted() };
    };
    const source = { ext_source: "local_cache" };
    for (const name of ["jobs.lookup_jid", "jobs.print_job", "jobs.exit_success"]) {
      const without = await ask(name, [saltJid], {});
      assert.ok(
        without.told.some((text) => text.startsWith(`${at(saltJid, "a", "return.p")} is not what was stored: `)),
      );
      assert.ok(without.told.some((text) => text.startsWith(`${at(saltJid, "b", "return.p")} cannot be read: ELOOP`)));
      assert.deepEqual(await ask(name, [saltJid], source), without, name);
    }
    const listed = await ask("jobs.list_jobs", [], source);
    assert.deepEqual(Object.keys(listed.answer as object), [saltJid]);
    assert.equal(listed.told.length, 1);
    assert.match(listed.told.join(), /\.load\.p is not what was stored: .*: it is left out$/);
  });
});

/** A recorded run of salt-run: its words, and what it printed. */
type Transcript = { readonly name: string; readonly argv: readonly string[]; readonly stdout: string };

/** Words of a recorded command line, whose values are simple enough to be parsed here. */
function keywordsOf(argv: readonly string[]): Record<string, Value> {
  const words = argv.filter((word) => word.includes("=") && !word.startsWith("--"));
  return Object.fromEntries(
    words.map((word) => {
      const [name = "", text = ""] = [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)];
      if (text.startsWith("[")) return [name, JSON.parse(text) as string[]];
      if (!text.startsWith("{")) return [name, text];
      return [
        name,
        new Map(
          text
            .slice(1, -1)
            .split(", ")
            .map((entry) => entry.split(": ") as [string, string]),
        ),
      ];
    }),
  );
}

describe("searches recorded from Salt", () => {
  const temporary = temporaryDirectories();
  const file = goldenPath("jobs_search.json");
  const { transcripts } = JSON.parse(readFileSync(file, "utf8")) as { transcripts: readonly Transcript[] };
  const jobs: readonly (readonly [string, Fields])[] = [
    ["20261120161241261424", { fun: "test.ping", arg: [], tgt: "es*", tgt_type: "glob" }],
    [
      "20261120161242848629",
      {
        fun: "cmd.run",
        arg: ["echo one"],
        tgt: "web*",
        tgt_type: "glob",
        kwargs: { metadata: { ticket: "OPS-1", team: "a" } },
      },
    ],
    [
      "20261120161243423176",
      {
        fun: "test.echo",
        arg: ["two"],
        tgt: ["es1", "db1.example.com"],
        tgt_type: "list",
        kwargs: { metadata: { ticket: "OPS-2", team: "b" } },
      },
    ],
    [
      "20261120161244005105",
      {
        fun: "state.single",
        arg: ["test.nop", { __kwarg__: true, name: "x" }],
        tgt: "G@role:web",
        tgt_type: "compound",
      },
    ],
    ["20261120161244685961", { fun: "cmd.run", arg: ["exit 2"], tgt: "es2", tgt_type: "glob" }],
  ];
  let cache: JobCache;
  before(async () => {
    cache = openLmdbJobCache({ path: join(temporary(), "jobs"), shards: 1, durability: "commit" });
    for (const [id, load] of jobs) await putJob(cache, id, { ...load, user: "root" }, []);
  });
  after(() => cache.close());

  const searches = transcripts.filter(({ argv, stdout }) => argv[1] === "jobs.list_jobs" && stdout.startsWith("{"));
  for (const { name, argv, stdout } of searches) {
    it(`${name}: ${argv.slice(1).join(" ")}`, async () => {
      const listed = await callRunner(runnerContext({ jobs: cache }), "jobs.list_jobs", [], keywordsOf(argv));
      assert.deepEqual(listed, JSON.parse(stdout));
    });
  }

  it("are at least as many as were recorded with JSON output", () =>
    assert.ok(searches.length >= 8, String(searches.length)));

  it("give the latest job that matches, or False", async () => {
    const context = runnerContext({ jobs: cache });
    const last = async (asked: Record<string, Value>) => await callRunner(context, "jobs.last_run", [], asked);
    assert.deepEqual(Object.keys((await last({ function: "cmd.run" })) as object), ["20261120161244685961"]);
    assert.deepEqual(Object.keys((await last({ target: "web*" })) as object), ["20261120161242848629"]);
    assert.equal(await last({ function: "nothing.here" }), false);
    assert.equal(await last({ metadata: "text" }), false);
  });

  it("give pages, of all jobs and of the newest without find_job", async () => {
    const context = runnerContext({ jobs: cache });
    const ids = async (keywords: Record<string, Value>) =>
      Object.keys((await callRunner(context, "jobs.list_jobs", [], keywords)) as object).map((id) => id.slice(12));
    assert.deepEqual(await ids({ limit: 2 }), ["44005105", "44685961"]);
    assert.deepEqual(await ids({ limit: 2, before: "20261120161244005105" }), ["42848629", "43423176"]);
    await assert.rejects(ids({ limit: "many" }), { code: "FUNCTION_ARGUMENTS", message: /limit is a whole number/ });
    await putJob(cache, "20261120161250000000", { fun: "saltutil.find_job", tgt: ["es1"], tgt_type: "list" }, []);
    const filtered = async (keywords: Record<string, Value>) =>
      ((await callRunner(context, "jobs.list_jobs_filter", [1], keywords)) as Fields[]).map(
        ({ JID, Function: fun }) => [JID, fun],
      );
    assert.deepEqual(await filtered({}), [["20261120161244685961", "cmd.run"]]);
    assert.deepEqual(await filtered({ filter_find_job: false }), [["20261120161250000000", "saltutil.find_job"]]);
  });

  it("are cut if an answer cannot hold all jobs, and say where to continue", async () => {
    const large = openLmdbJobCache({ path: join(temporary(), "jobs"), shards: 1, durability: "commit" });
    const arg = Array.from({ length: 200_000 }, () => 1);
    const ids = Array.from({ length: 10 }, (_, index) => `202601010000000000${10 + index}`);
    for (const id of ids) await putJob(large, id, { fun: "test.arg", arg, tgt: "*" }, []);
    const notes: string[] = [];
    const context = { ...runnerContext({ jobs: large }), note: (text: string) => void notes.push(text) };
    const listed = Object.keys((await callRunner(context, "jobs.list_jobs")) as object);
    assert.ok(listed.length < ids.length && listed.length > 0);
    assert.deepEqual(listed, ids.slice(-listed.length), "the newest");
    assert.match(notes[0] ?? "", new RegExp(`newest ${listed.length} jobs.*before=${listed[0]}`));
    const rest = Object.keys((await callRunner(context, "jobs.list_jobs", [], { before: listed[0] ?? "" })) as object);
    assert.deepEqual([...rest, ...listed], ids);
    await large.close();
  });
});
