/** A stock minion and ours get files, states and pillars from git repositories through our master. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { SampleRepository } from "../../git/sample-repositories.ts";
import { skipWithout } from "../../services/service.ts";
import { Operator } from "../operator.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const startTimeoutMs = 60_000;

const skip = skipWithout("git") || (release === undefined && (releases.skip || "no Salt 3007"));

describe("git repositories", { skip }, () => {
  const bed = new TestBed();
  const states = new SampleRepository(join(bed.folder, "states"));
  const pillars = new SampleRepository(join(bed.folder, "pillars"));
  const written = (id: string) => join(bed.folder, `written-${id}`);
  let operator: Operator | undefined;

  const run = async (tool: "salt" | "run", ...args: readonly string[]): Promise<unknown> => {
    assert.ok(operator !== undefined);
    return await operator.json(tool, args);
  };
  /** What both minions answer. */
  const both = async (...args: readonly string[]): Promise<readonly unknown[]> => {
    const shown = (await run("salt", "*", ...args, "--static")) as Readonly<Record<string, unknown>>;
    return [shown.stock, shown.own];
  };

  before(async () => {
    const state =
      "{{ pillar['place'] }}-{{ grains['id'] }}:\n  file.managed:\n    - source: salt://web/page\n    - template: jinja\n";
    states.commit({
      "top.sls": "base:\n  '*': [web]\n",
      "web/init.sls": state,
      "web/page": "{{ pillar['word'] }} base\n",
    });
    states.git("checkout", "-q", "-b", "dev");
    states.commit({ "web/page": "{{ pillar['word'] }} dev\n" });
    states.git("checkout", "-q", "master");
    pillars.commit({ "top.sls": "base:\n  '*': [a]\n", "a.sls": `place: ${written("x").slice(0, -2)}\nword: first\n` });
    const master = await MasterUnderTest.create(bed, "ours", {
      auto_accept: true,
      fileserver_backend: ["git"],
      gitfs_remotes: [states.url],
      ext_pillar: [{ git: [`master ${pillars.url}`] }],
    });
    await master.start();
    const watch = await bed.watchEvents(master.sockDir);
    for (const [maker, id] of [
      [release as SaltRelease, "stock"],
      ["ours", "own"],
    ] as const) {
      new MinionUnderTest(master, maker, id);
      await watch.until("start", ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    }
    watch.close();
    operator = new Operator("ours", master);
  });
  after(() => bed.close());

  it("give files of branches, and a highstate", async () => {
    await run("run", "fileserver.update");
    assert.deepEqual(await run("run", "fileserver.envs"), ["base", "dev"]);
    assert.deepEqual(await both("cp.get_file_str", "salt://web/page"), Array(2).fill("{{ pillar['word'] }} base\n"));
    assert.deepEqual(
      await both("cp.get_file_str", "salt://web/page?saltenv=dev"),
      Array(2).fill("{{ pillar['word'] }} dev\n"),
    );
    await both("state.apply");
    for (const id of ["stock", "own"]) assert.equal(readFileSync(written(id), "utf8"), "first base\n");
  });

  it("give what is new after an update", async () => {
    pillars.commit({ "a.sls": `place: ${written("x").slice(0, -2)}\nword: second\n` });
    states.commit({ "web/page": "{{ pillar['word'] }} changed\n" });
    assert.deepEqual(await both("pillar.get", "word"), ["first", "first"]);
    assert.deepEqual(await run("run", "git_pillar.update"), { [`master ${pillars.url}`]: true });
    assert.deepEqual(await run("run", "git_pillar.update"), { [`master ${pillars.url}`]: null });
    assert.equal(await run("run", "fileserver.update"), true);
    await both("saltutil.refresh_pillar", "wait=True");
    await both("state.apply", "web");
    for (const id of ["stock", "own"]) assert.equal(readFileSync(written(id), "utf8"), "second changed\n");
  });
});
