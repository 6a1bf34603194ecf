/** A site's plug-ins in Python: what each kind gives under a master of Salt 3007, and under ours with the Python of each release. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Operator } from "../operator.ts";
import { runCommand } from "../program.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, ourProgram, TestBed } from "../test-bed.ts";
import { pythonSite } from "./site.ts";

const { all: releases, skip } = await openReleases();
const startTimeoutMs = 60_000;
const calls: readonly (readonly string[])[] = [
  ["site_runner.hello", "world", "loud=True"],
  ["site_runner.hello", "name=world", "loud=True"],
  ["site_runner.hello"],
  ["site_runner.hello", "a", "b", "c"],
  ["site_runner.tell"],
  ["site_runner.boom"],
  ["site_runner.ping", "stock"],
  ["site_runner.odd"],
  ["fileserver.envs", "backend=site_files"],
  ["fileserver.file_list", "backend=site_files"],
  ["fileserver.update"],
  ["config.get", "site_word"],
  ["queue.insert", "work", "web1", "backend=nowhere"],
  ["queue.insert", "work", "['web1', \"it's\"]"],
  ["queue.insert", "work", "web1"],
  ["queue.insert", "work", "{fun: test.arg, args: [1, grüße]}"],
  ["queue.list_length", "work"],
  ["queue.list_items", "work"],
  ["queue.delete", "work", "web1"],
  ["queue.pop", "work", "all"],
  ["saltutil.sync_runners"],
  ["synced.where"],
];

const fileQuestions: readonly (readonly string[])[] = [
  ["cp.get_file_str", "salt://far/away.txt"],
  ["cp.get_file_str", "salt://near.txt"],
  ["cp.hash_file", "salt://far/deep/er.txt"],
  ["cp.get_file", "salt://far/deep/er.txt", "/nonexistent-folder/er.txt"],
  ["cp.list_master"],
  ["cp.list_master_dirs"],
  ["cp.get_file_str", "salt://far/none.txt"],
];

/** The last line of a traceback, because the lines before it are places in Salt, and no times. */
function withoutPlaces(text: string): string {
  return text.replace(/Traceback[\s\S]*\n(\w+Error: )/, "$1").replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+/g, "TIME");
}

/** Lines of a file, sorted, once it has `count` of them. */
async function linesAt(path: string, count: number): Promise<readonly string[]> {
  for (const endMs = performance.now() + startTimeoutMs; ; await delay(100)) {
    const lines = existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
    if (lines.length >= count) return lines.sort();
    assert.ok(performance.now() < endMs, `${path} has ${lines.length} lines of ${count}`);
  }
}

type Told = Readonly<Record<string, unknown>>;

/** What operators and a stock minion get from a site under this master. */
async function toldUnder(bed: TestBed, maker: Maker, python: SaltRelease, name: string): Promise<Told> {
  // Salt looks for modules below `root_dir`.
  const folder = join(bed.folder, name, "site");
  const site = pythonSite(folder, { salt_python: python.program("python"), auto_accept: true, timeout: 60 });
  const master = await MasterUnderTest.create(bed, maker, site.options, name);
  await master.start();
  const watch = await bed.watchEvents(master.sockDir);
  const operator = new Operator(maker, master);
  new MinionUnderTest(master, python, "stock", {}, name);
  await watch.until("start of stock", ({ tag }) => tag === "salt/minion/stock/start", startTimeoutMs);
  const pillar = await operator.job("stock", ["pillar.items"]);
  const files: Told[] = [];
  for (const words of fileQuestions) files.push({ words, value: (await operator.job("stock", words)).value });
  const orchestrated = await Promise.all(["orch", "orch_py"].map((sls) => orchestration(operator, name, sls)));
  // The order matters: a sync removes the runners that the site keeps only beside it.
  const called: Told[] = [];
  for (const words of calls) {
    const { stdout, code } = await operator.run("run", words, { isProcess: true });
    called.push({ words, text: withoutPlaces(stdout.toString()), code });
  }
  const shown = await operator.run("salt", ["--out=site_lines", "stock", "test.echo", "word"], { isProcess: true });
  const login = (user: string, password: string, words: readonly string[]) =>
    operator.run("salt", ["-a", "site_auth", "--username", user, "--password", password, "stock", ...words]);
  const logins = [
    await login("ann", "right", ["cmd.run", "echo hi"]),
    await login("bob", "right", ["test.ping"]),
    await login("bob", "right", ["cmd.run", "echo hi"]),
    await login("ann", "wrong", ["test.ping"]),
  ];
  await operator.run("run", ["event.send", "site/call", "data={word: by keyword}"]);
  const tick = await watch.until("a tick of the engine", ({ tag }) => tag === "site/engine/tick", startTimeoutMs);
  await watch.until("a second tick", ({ tag }) => tag === "site/engine/tick", startTimeoutMs);
  return {
    pillar: pillar.value,
    top: (await operator.job("stock", ["state.show_top"])).value,
    orchestrated,
    files,
    shown: [shown.stdout.toString(), shown.code],
    called: called.map((call) => ({ ...call, text: String(call.text).replaceAll(`${name}_master`, "MASTER") })),
    logins: logins.map(({ stdout, code }) => ({ text: stdout.toString(), code })),
    tick: tick.data instanceof Map ? tick.data.get("word") : undefined,
    here: await linesAt(site.called, 2),
    events: readFileSync(site.events, "utf8").includes("site/engine/tick"),
  };
}

/** Results and comments of an orchestration by the name of the state. */
async function orchestration(operator: Operator, name: string, sls: string): Promise<Told> {
  const answer = (await operator.json("run", ["state.orchestrate", sls])) as Record<string, unknown>;
  const states = Object.values(answer).flatMap((value) => Object.values(value as object)) as Record<string, unknown>[];
  const shown = states.flatMap((state) =>
    typeof state === "object" && state !== null && "comment" in state ? [state] : Object.values(state ?? {}),
  ) as Record<string, unknown>[];
  return Object.fromEntries(
    shown.map(({ __id__: id, result, comment }) => [
      String(id),
      [result, String(comment).replaceAll(`${name}_master`, "MASTER")],
    ]),
  );
}

describe("a site's plug-ins in Python", { skip }, () => {
  const bed = new TestBed();
  after(() => bed.close());
  const of3007 = releases.find(({ name }) => name === "3007") as SaltRelease;

  bed.it("give what they give under Salt 3007", async () => {
    const salts = await toldUnder(bed, of3007, of3007, "salts");
    const ours = await toldUnder(bed, "ours", of3007, "ours");
    assert.deepEqual(ours, salts);
    assert.deepEqual(ours.here, ["by keyword", "by place"]);
    const { pillar, top, files, shown } = ours as {
      readonly pillar: { readonly greeting: string };
      readonly top: unknown;
      readonly files: readonly { readonly value: unknown }[];
      readonly shown: unknown;
    };
    assert.deepEqual(shown, ["<stock> word\n_master\n", 0]);
    assert.equal(files[0]?.value, "from afar");
    assert.equal(pillar.greeting, "good day stock");
    assert.deepEqual(top, { base: ["told.stock"] });
  });

  for (const name of ["3006", "3008"] as const)
    bed.it(`are run by the Python of Salt ${name}`, async () => {
      const python = releases.find((release) => release.name === name) as SaltRelease;
      const site = pythonSite(join(bed.folder, `of${name}`, "site"), {
        ...{ salt_python: python.program("python"), auto_accept: true, timeout: 60 },
        ext_pillar: [{ site_pillar: { greeting: "good day" } }, { site_broken: "word" }],
      });
      const master = await MasterUnderTest.create(bed, "ours", site.options, `of${name}`);
      await master.start();
      const watch = await bed.watchEvents(master.sockDir);
      await watch.until("a tick of the engine", ({ tag }) => tag === "site/engine/tick", startTimeoutMs);
      const operator = new Operator("ours", master);
      new MinionUnderTest(master, "ours", "stock", {}, `of${name}`);
      await watch.until("start of stock", ({ tag }) => tag === "salt/minion/stock/start", startTimeoutMs);
      const { stdout: report } = await runCommand(process.execPath, [ourProgram, "check", "-c", master.configDir]);
      assert.deepEqual(report.toString().match(/(?<=LOST +)caller\S+/g), ["caller.nowhere.at_all"]);
      const { value } = await operator.job("stock", ["pillar.items"]);
      const { greeting, in_python: inPython, sum, one, _errors: errors } = value as Record<string, unknown>;
      assert.deepEqual(errors, ["Failed to load ext_pillar site_broken: no answer for stock"]);
      assert.deepEqual(
        { greeting, inPython, sum, one },
        { greeting: "good day stock", inPython: "stock", sum: { sum: 7, for: "stock" }, one: "1" },
      );
      const called = await operator.json("run", ["site_runner.ping", "stock"]);
      assert.deepEqual(called, { stock: true });
      const { stdout: docs } = await operator.run("run", ["-d", "site_runner.hello"]);
      assert.match(docs.toString(), /^site_runner\.hello:\n\s+Say hello\.\s*$/);
      const started = await operator.run("run", ["--async", "site_runner.ping", "stock"]);
      assert.match(started.stderr, /Running in asynchronous mode/);
      const wrong = await operator.run("run", ["--async", "site_runner.nothing"]);
      assert.match(wrong.stdout.toString(), /^'site_runner\.nothing' is not available\.\n$/);
      // Salt ends with 0 for a function that it does not have.
      const unknown = await operator.run("run", ["site_runner.nothing"]);
      assert.deepEqual(
        { text: unknown.stdout.toString(), code: unknown.code },
        { text: "'site_runner.nothing' is not available.\n", code: 1 },
      );
    });
});
