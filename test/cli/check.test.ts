/** `saltworks check`: what it says of each part of a Salt site, its exit codes, and that it changes nothing. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import type { Chapter, Finding } from "../../src/takeover/finding.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { TestHost } from "./test-host.ts";

describe("saltworks check", () => {
  const temporary = temporaryDirectories();
  let root = "";
  const at = (...names: string[]) => join(root, ...names);
  const put = (path: string, text = "") => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
  };
  const configure = (lines: string) =>
    put(
      "conf/master",
      `root_dir: ${root}\ncachedir: ${at("cache")}\npki_dir: ${at("pki")}\nextension_modules: ${at("extmods")}\n` +
        `pillar_roots: {base: [${at("pillar")}]}\nfile_roots: {base: [${at("states")}]}\n${lines}`,
    );

  async function check(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
    const host = new TestHost();
    const code = await dispatch(["check", "-c", at("conf"), ...args], host);
    assert.equal(host.err, "");
    return { code, out: host.out };
  }

  async function found(subject: string): Promise<readonly Finding[]> {
    const { chapters } = JSON.parse((await check("--json")).out) as { chapters: readonly Chapter[] };
    return chapters.find((chapter) => chapter.subject === subject)?.findings ?? [];
  }
  const lost = (findings: readonly Finding[]) =>
    findings
      .filter(({ verdict }) => verdict === "lost")
      .map(({ name, place = "" }) => `${name} ${place}`.replaceAll(root, ""));

  beforeEach(() => {
    root = temporary();
    configure("");
    for (const state of ["minions", "minions_pre"]) put(`pki/${state}/m-${state}`, "a key");
    put("pki/master.pem", "a key");
  });

  it("ends with 0 if nothing is lost, and shows what is kept only when asked", async () => {
    configure("auth_mode: 2\n");
    const { code, out } = await check();
    assert.equal(code, 0);
    assert.match(
      out,
      /^options: 1 changed, 6 kept\n {2}changed {2}auth_mode .*: is read and checked, but nothing acts on it\n/,
    );
    assert.match(out, /\nNothing is lost\.\n$/);
    assert.doesNotMatch(out, /minions' keys/);
    assert.match(
      (await check("--all")).out,
      /kept {5}minions' keys \(.*\): 1 accepted, 1 pending, 0 rejected, 0 denied\n/,
    );
  });

  it("names options whose function is missing, with file and line, accepted or not", async () => {
    configure(
      "ext_pillar: [{no_such_source: x}, {cmd_yaml: echo}]\naccept_missing: [ssl]\nssl: True\nworker_treads: 3\n",
    );
    const { code, out } = await check();
    assert.equal(code, 1);
    assert.match(out, /LOST {5}ext_pillar \(.*\/conf\/master:7\): no_such_source: not built here .* refuses to start/);
    assert.match(out, /LOST {5}ssl \(.*\/conf\/master:9\): .* accept_missing names it, so the master starts/);
    assert.match(out, /changed {2}worker_treads \(.*master:10\): is not an option; did you mean "worker_threads"\?/);
    assert.match(out, /What is LOST ends with a takeover/);
  });

  it("names git remotes with which no master starts, without their passwords", async () => {
    configure(
      "fileserver_backend: [git]\ngitfs_remotes: ['ext::sh -c x']\n" +
        "ext_pillar: [{git: [{'master http://u:hidden@h/x': [{nosuch: 1}]}]}]\n",
    );
    const abouts = (await found("options")).filter(({ verdict }) => verdict === "lost").map(({ about }) => about);
    assert.match(abouts[0] ?? "", /^gitfs remote ext::sh -c x has an address of another form/);
    assert.match(abouts[1] ?? "", /^git_pillar remote master http:\/\/h\/x has no option 'nosuch'/);
  });

  it("says what becomes of job caches, and names a client library that is not there", async () => {
    const python = "salt_python: False\n";
    configure(`${python}ext_job_cache: rawfile_json\n`);
    assert.deepEqual(lost(await found("options")), []);
    configure(`${python}ext_job_cache: site_jobs\n`);
    assert.deepEqual(lost(await found("options")), ["ext_job_cache /conf/master:8"]);
    configure(`${python}master_job_cache: postgres\next_job_cache: sqlite3\nsqlite3.database: ${at("jobs")}\n`);
    const findings = await found("options");
    const changed = findings.find(({ name, verdict }) => name === "master_job_cache" && verdict === "changed");
    assert.match(changed?.about ?? "", /^'postgres' gets no jobs while ext_job_cache names 'sqlite3'/);
    // SQLite comes with Node.js, but not with Node 20.
    const refused = findings.filter(({ name }) => name === "start").map(({ about }) => about);
    assert.equal(refused.length, isBuiltin("node:sqlite") ? 0 : 1);
    for (const about of refused) assert.match(about, /^sqlite3 as a job cache needs node:sqlite, .* 22\.13 or later$/);
  });

  it("names files that are larger than this master reads, and nothing of their cut text", async () => {
    put("pillar/large.sls", "x: {{ 'x' | upper }}\n".repeat(250_000));
    put("reactor.sls", "# a comment of forty characters, repeated\n".repeat(120_000));
    configure(`reactor: [{a: [${at("reactor.sls")}]}]\n`);
    assert.deepEqual(lost(await found("pillar files")), ["size /pillar/large.sls"]);
    assert.deepEqual(lost(await found("reactor files")), ["size /reactor.sls"]);
  });

  it("names renderers, filters and functions of pillar files that are missing", async () => {
    put("pillar/a/init.sls", "#!no_such_renderer|yaml\nx: 1\n");
    put("pillar/b.sls", "a: {{ 'x' | upper }}\nb: {{ 'x' | no_such_filter }}\nc: {{ salt['site.function']() }}\n");
    put("pillar/map.jinja", "{% set x = salt.site.other() %}{% set y = salt['grains.get']('id') %}");
    put("pillar/broken.sls", "{% if %}\n");
    put("pillar/whole.sls", "x: {{ salt['pillar.get']('x') | default(1) }}\n");
    const findings = await found("pillar files");
    assert.deepEqual(lost(findings).toSorted(), [
      "filter no_such_filter /pillar/b.sls:2",
      "no_such_renderer /pillar/a/init.sls:1",
      "salt['site.function'] /pillar/b.sls:3",
      "salt['site.other'] /pillar/map.jinja:1",
      "template /pillar/broken.sls:1",
    ]);
    assert.match(
      findings.find(({ verdict }) => verdict === "kept")?.about ?? "",
      /^of 5 files of 'base', 1 use nothing/,
    );
  });

  it("names functions of reactions that are missing, and files that are not there", async () => {
    configure(`reactor: [{'a/*': [${at("reactor")}/*.sls, 'salt://r.sls', /no/such.sls]}]\n`);
    put("reactor/a.sls", "x:\n  runner.site.function:\n    - args: []\ny:\n  runner.manage.up: []\n");
    put("states/r.sls", "z:\n  wheel.no.such: []\n");
    const findings = await found("reactor files");
    assert.deepEqual(lost(findings), ["runner.site.function /reactor/a.sls:2", "wheel.no.such /states/r.sls:2"]);
    assert.deepEqual(
      findings.filter(({ verdict }) => verdict === "changed").map(({ place }) => place),
      ["/no/such.sls"],
    );
  });

  it("names functions of the schedule that are missing", async () => {
    configure("schedule: {a: {function: site.custom, hours: 1}, b: {function: test.arg, hours: 1}, enabled: true}\n");
    const findings = await found("schedule");
    assert.deepEqual(
      findings.map(({ name, verdict }) => `${name} ${verdict}`),
      ["a lost", "b kept"],
    );
  });

  it("names the site's Python that a master would load, and not what is for minions", async () => {
    configure(`runner_dirs: [${at("runners")}]\npeer_run: {'.*': [manage.up, site.thing, 'jobs.*']}\n`);
    for (const path of ["states/_runners/one.py", "states/_modules/for_minions.py", "states/_returners/for_minions.py"])
      put(path);
    for (const path of [
      "extmods/pillar/two.py",
      "extmods/tops/three/__init__.py",
      "extmods/modules/no.py",
      "runners/four.py",
    ])
      put(path);
    assert.deepEqual(lost(await found("the site's own Python for the master")).toSorted(), [
      "pillar.two /extmods/pillar",
      "runners.four /runners",
      "runners.one /states/_runners",
      "tops.three /extmods/tops",
    ]);
    assert.deepEqual(lost(await found("runners of minions (peer_run)")), ["site.thing /conf/master"]);
  });

  it("counts keys and data, and names syndics and queues", async () => {
    put("cache/minions/m1/data.p");
    put("cache/grains/m2.p");
    put("cache/jobs/ab/cdef/jid", "20260102030405000001");
    put("cache/syndics/below");
    put("cache/tokens/0123");
    put("var/cache/salt/master/queues/q.db");
    const findings = await found("data");
    const about = (name: string) => findings.find((finding) => finding.name === name)?.about ?? "";
    assert.match(about("minions' data"), /of 2 minions/);
    assert.match(about("jobs"), /^1 jobs/);
    assert.match(about("tokens"), /^1 stay good/);
    assert.match(about("q"), /both masters use the same file/);
    assert.deepEqual(lost(findings), ["below /cache/syndics"]);
    configure("order_masters: true\n");
    assert.deepEqual(lost(await found("data")), []);
  });

  it("says whether Salt's own files stay current", async () => {
    const verdict = async () => (await found("way back")).map((finding) => finding.verdict);
    configure("salt_files: never\n");
    assert.deepEqual(await verdict(), ["changed"]);
    configure("salt_files: always\n");
    assert.deepEqual(await verdict(), ["kept"]);
  });

  it("ends with 2 if something cannot be read", async () => {
    symlinkSync("pillar", at("pillar"));
    const { code, out } = await check();
    assert.equal(code, 2);
    assert.match(out, /NOT READ pillar_roots \(.*pillar\): ELOOP/);
    assert.match(out, /does not know what becomes of it/);
  });

  it("changes nothing", async () => {
    put("pillar/a.sls", "a: 1\n");
    const state = () =>
      readdirSync(root, { recursive: true }).map((name) => `${name} ${statSync(at(String(name))).mtimeMs}`);
    const before = state();
    await check();
    assert.deepEqual(state(), before);
  });
});
