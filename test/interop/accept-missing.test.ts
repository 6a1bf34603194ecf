/** A configuration with sources that are not built: the master does not start; with `accept_missing` it starts, and every state run fails. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { Operator } from "./operator.ts";
import { runCommand } from "./program.ts";
import { openReleases, type SaltRelease } from "./salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, ourProgram, TestBed } from "./test-bed.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const startTimeoutMs = 60_000;

describe("options that are not built", {
  skip: release === undefined ? releases.skip || "no Salt 3007" : false,
}, () => {
  const bed = new TestBed();
  const tree = join(bed.folder, "srv");
  const target = join(bed.folder, "motd");
  let master: MasterUnderTest;
  let operator: Operator;

  before(async () => {
    mkdirSync(tree);
    writeFileSync(join(tree, "top.sls"), "base:\n  '*': [motd]\n");
    writeFileSync(
      join(tree, "motd.sls"),
      `${target}:\n  file.managed:\n    - contents: {{ pillar.get('token', 'NO TOKEN') }}\n`,
    );
    master = await MasterUnderTest.create(bed, "ours", {
      auto_accept: true,
      file_roots: { base: [tree] },
      ext_pillar: [{ vault: "path=secret" }],
      fileserver_backend: ["roots", "hgfs"],
      // A state run takes long on a busy machine.
      timeout: 60,
    });
    operator = new Operator("ours", master);
  });
  after(() => bed.close());

  function also(text: string): void {
    const folder = join(master.configDir, "master.d");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "saltworks.conf"), text);
  }

  bed.it("refuse the start with file and line", async () => {
    const { code, stderr } = await runCommand(process.execPath, [ourProgram, "master", "-c", master.configDir]);
    assert.equal(code, 64, stderr);
    const lines = readFileSync(join(master.configDir, "master"), "utf8").split("\n");
    for (const [name, part] of [
      ["ext_pillar", "vault"],
      ["fileserver_backend", "hgfs"],
    ]) {
      const line = lines.findIndex((text) => text.startsWith(`${name}:`)) + 1;
      assert.match(stderr, new RegExp(`${master.configDir}/master:${line}: ${name}: not built here \\(${part}\\)`));
    }
    // Operators' commands need no such source.
    assert.equal((await operator.run("key", ["-L"])).code, 0);
  });

  bed.it("make a stock minion's state run fail when they were accepted and feed pillars", async () => {
    also("accept_missing: [ext_pillar, fileserver_backend]\n");
    await master.start();
    const watch = await bed.watchEvents(master.sockDir);
    // A minion finds a restarted master within a second, not within Salt's random ten.
    const reconnects = { recon_default: 100, recon_max: 500, recon_randomize: false };
    new MinionUnderTest(master, release as SaltRelease, "site", reconnects);
    await watch.until("start", ({ tag }) => tag === "salt/minion/site/start", startTimeoutMs);
    const error = "ext_pillar: vault is not available on the master";
    assert.deepEqual((await operator.job("site", ["pillar.items"])).value, { _errors: [error] });
    for (const words of [["state.apply"], ["state.apply", "motd"]]) {
      const run = await operator.job("site", words);
      assert.notEqual(run.code, 0);
      assert.ok(JSON.stringify(run.value).includes(error), JSON.stringify(run.value));
    }
    assert.throws(() => readFileSync(target), { code: "ENOENT" });
  });

  bed.it("make its highstate fail where they feed files, and leave what the roots hold whole", async () => {
    // With `ext_pillar: []` the operator says that pillars need no external data.
    also("accept_missing: [fileserver_backend]\next_pillar: []\n");
    await master.restart();
    const deadlineMs = performance.now() + startTimeoutMs;
    for (let answer: unknown; (answer as { site?: unknown } | undefined)?.site !== true; ) {
      assert.ok(performance.now() < deadlineMs, "the minion does not come back");
      answer = await operator.json("salt", ["-t", "10", "--gather-job-timeout=5", "site", "test.ping", "--static"]);
    }
    assert.equal((await operator.job("site", ["saltutil.refresh_pillar", "wait=True"])).value, true);
    const highstate = await operator.job("site", ["state.apply"]);
    assert.notEqual(highstate.code, 0);
    assert.match(JSON.stringify(highstate.value), /the_master_lacks_fileserver_backend_hgfs/);
    assert.throws(() => readFileSync(target), { code: "ENOENT" });
    const one = await operator.job("site", ["state.apply", "motd"]);
    assert.equal(one.code, 0, JSON.stringify(one.value));
    assert.equal(readFileSync(target, "utf8"), "NO TOKEN\n");
  });
});
