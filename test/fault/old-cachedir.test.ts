/** A master starts on the cachedir of an earlier release that was killed, finds all data, and converts it once. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { descriptorsForMaster } from "../../bench/fleet/descriptors.ts";
import { MasterProcess } from "../../bench/master-process.ts";
import { cliFile } from "../fleet/our-master.ts";
import { runCli } from "../fleet/run-cli.ts";
import { repositoryRoot } from "../root.ts";
import { temporaryDirectories } from "../store/temporary.ts";

const fixture = join(repositoryRoot, "test", "fixtures", "cachedir-layout-2.tar.gz");
const answerMs = 60_000;
const largeJid = "20261122194523733291";
const loggedJid = "20261122194545499811";
const largeText = "saltworks\n".repeat(10_000).trimEnd();

describe("the cachedir of an earlier release", () => {
  const temporary = temporaryDirectories();
  let site = "";

  before(() => {
    site = temporary();
    execFileSync("tar", ["-xzf", fixture, "-C", site]);
  });

  const at = (...names: string[]) => join(site, ...names);

  function start(): Promise<MasterProcess> {
    mkdirSync(at("sock"), { recursive: true });
    const paths = { root_dir: "/", cachedir: at("cache"), pki_dir: at("pki"), sock_dir: at("sock") };
    return MasterProcess.start({
      command: [process.execPath, cliFile, "master"],
      config: { log_level: "warning", worker_threads: 2, keysize: 2_048, keep_jobs_seconds: 0, ...paths },
      descriptors: descriptorsForMaster(1),
    });
  }

  async function answer(master: MasterProcess, ...words: string[]): Promise<Record<string, unknown>> {
    const args = ["run", "-c", master.configDirectory, ...words, "--out=json"];
    const { exitCode, stdout, stderr } = await runCli(args, answerMs);
    assert.equal(exitCode, 0, stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  for (const time of ["first", "second"]) {
    it(`is found whole at the ${time} start`, async () => {
      const master = await start();
      try {
        const jobs = await answer(master, "jobs.list_jobs");
        assert.ok(Object.keys(jobs).filter((jid) => jid < "20261122195000000000").length >= 12);
        assert.deepEqual(await answer(master, "jobs.lookup_jid", largeJid), { m1: largeText });
        const echoed = "in the log 0";
        assert.deepEqual(await answer(master, "jobs.lookup_jid", loggedJid), { m1: echoed, m2: echoed, m3: echoed });
        assert.deepEqual((await answer(master, "cache.mine", "*")).m2, { "test.echo": "mine of m2" });
        assert.deepEqual((await answer(master, "cache.pillar", "*")).m3, { role: "web" });
        const { m1 } = (await answer(master, "cache.grains", "*")) as { m1: Record<string, unknown> };
        assert.equal(m1.kind, "old");
        assert.equal(JSON.parse(readFileSync(at("cache", "jobs.lmdb", "layout.json"), "utf8")).version, 3);
        assert.ok(readdirSync(at("cache", "jobs.lmdb")).every((name) => !name.startsWith("damaged-")));
      } finally {
        assert.equal(await master.stop(), 0);
        await master.remove();
      }
    });
  }

  it("of a later release is refused in words", async () => {
    writeFileSync(at("cache", "jobs.lmdb", "layout.json"), '{"version":99,"shards":1}\n');
    await assert.rejects(start(), ({ message }: Error) => {
      assert.match(message, /jobs\.lmdb is of a layout that this release does not know/);
      assert.doesNotMatch(message, /^\s+at /m);
      return true;
    });
  });
});
