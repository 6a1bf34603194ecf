/** The kept list of keys: it stands for the directories until one of them changes. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { KeptKeyList } from "../../../src/master/upkeep/kept-key-list.ts";
import type { RunnerResult } from "../../../src/workers/messages/runner.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const folders = ["minions", "minions_pre", "minions_denied", "minions_rejected"];

describe("KeptKeyList", () => {
  const temporary = temporaryDirectories();
  let pki = "";
  let kept: KeptKeyList;
  let runs = 0;
  const at = (...names: string[]) => join(pki, ...names);
  /** As if all had been quiet for a minute. */
  const settle = () => {
    for (const name of ["", ...folders]) utimesSync(at(name), new Date(), new Date(Date.now() - 60_000 - runs));
  };
  const list = async (meanwhile: () => void = () => undefined, success = true) => {
    const run = async () => {
      runs += 1;
      const value = Buffer.from(folders.flatMap((name) => readdirSync(at(name))).join());
      meanwhile();
      return { value, reply: value, success, notes: [], faults: [], callerEvents: 0 } satisfies RunnerResult;
    };
    return Buffer.from((await kept.result(run)).value).toString();
  };

  beforeEach(() => {
    pki = temporary();
    for (const name of folders) mkdirSync(at(name));
    writeFileSync(at("minions", "a"), "");
    kept = new KeptKeyList(pki);
    runs = 0;
    settle();
  });

  it("is given again while nothing changes", async () => {
    assert.deepEqual([await list(), await list(), await list()], ["a", "a", "a"]);
    assert.equal(runs, 1);
  });

  for (const folder of folders)
    it(`is made anew when ${folder} changes, and kept again once that is settled`, async () => {
      await list();
      writeFileSync(at(folder, "b"), "");
      assert.match(await list(), /b/);
      rmSync(at(folder, "b"));
      assert.equal(await list(), "a");
      settle();
      await list();
      const before = runs;
      assert.equal(await list(), "a");
      assert.equal(runs, before);
    });

  it("is not kept if a key came meanwhile", async () => {
    await list(() => writeFileSync(at("minions", "b"), ""));
    settle();
    assert.equal(await list(), "a,b");
  });

  it("is not kept after a failure", async () => {
    await list(undefined, false);
    await list();
    assert.equal(runs, 2);
  });
});
