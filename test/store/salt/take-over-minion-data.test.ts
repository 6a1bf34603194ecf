/** Takes over a Salt master's data of minions in either layout, and detects an installed Salt. */
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type MinionData, openMinionData } from "../../../src/store/minions/data.ts";
import { AliveMark } from "../../../src/store/salt/alive-mark.ts";
import { findSaltFiles, findSaltPrograms } from "../../../src/store/salt/detect.ts";
import { jobDirectory } from "../../../src/store/salt/job-files.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { layoutsIn } from "../../../src/store/salt/minion-files.ts";
import { type TakeOverOptions, takeOverMinionData } from "../../../src/store/salt/take-over-minion-data.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { loadOf } from "../../contract/job-samples.ts";
import { temporaryDirectories } from "../temporary.ts";
import { put } from "./salt-file.ts";

const hashType = "sha256";
const oldJid = "20260102030405000001";

describe("taking over minions' data", () => {
  const temporary = temporaryDirectories();
  let cachedir: string;
  let minions: MinionData;
  let faults: string[];
  beforeEach(() => {
    cachedir = temporary();
    minions = openMinionData({ path: join(cachedir, "minions.lmdb") });
    faults = [];
  });
  afterEach(() => minions.close());

  const take = (o: Partial<TakeOverOptions> = {}) =>
    takeOverMinionData({
      cachedir,
      ids: ["a", "b"],
      minions,
      sinceMs: 0,
      readMs: 0,
      isOutdated: () => false,
      keeps: { facts: true, mines: true },
      onProgress: () => undefined,
      onFault: ({ file }) => faults.push(file),
      ...o,
    });
  const stored = (id: string) => {
    const facts = minions.get(id);
    return facts && [decode(facts.grains), decode(facts.pillar)];
  };

  it("reads the folders of 3006 and 3007, of accepted minions only", async () => {
    for (const id of ["a", "stranger"]) {
      put(join(cachedir, "minions", id, "data.p"), { grains: { os: "Debian" }, pillar: { role: "web" } });
      put(join(cachedir, "minions", id, "mine.p"), { ip: { __saltmine_acl__: 1, __data__: "::1", allow_tgt: "b" } });
    }
    assert.deepEqual(await take(), { facts: 1, mines: 1, faults: 0 });
    assert.deepEqual(stored("a"), [new Map([["os", "Debian"]]), new Map([["role", "web"]])]);
    assert.deepEqual(
      decode(minions.getMine("a") ?? Buffer.alloc(0)),
      new Map([
        ["ip", new Map<string, unknown>(Object.entries({ __saltmine_acl__: 1, __data__: "::1", allow_tgt: "b" }))],
      ]),
    );
    assert.equal(minions.get("stranger"), undefined);
  });

  it("reads the kinds of 3008, and of both layouts what is newer", async () => {
    put(join(cachedir, "minions", "a", "data.p"), { grains: { from: "3007" }, pillar: { from: "3007" } }, 1_000_000);
    put(join(cachedir, "grains", "a.p"), { from: "3008" }, 2_000_000);
    put(join(cachedir, "mine", "b.p"), { x: 1 });
    assert.deepEqual(await take(), { facts: 1, mines: 1, faults: 0 });
    assert.deepEqual(stored("a"), [new Map([["from", "3008"]]), new Map([["from", "3007"]])]);
    assert.ok(minions.getMine("b"));
  });

  it("names files that cannot be read, and takes the others", async () => {
    const bad = join(cachedir, "minions", "a", "data.p");
    put(bad, Buffer.of(0x82, 0xa1));
    put(join(cachedir, "minions", "a", "mine.p"), { x: 1 });
    put(join(cachedir, "minions", "b", "mine.p"), Buffer.from([0xc0]));
    assert.deepEqual(await take(), { facts: 0, mines: 1, faults: 2 });
    assert.deepEqual(faults, [bad, join(cachedir, "minions", "b", "mine.p")]);
  });

  it("leaves alone what is older than this master's last sign of life, and takes what Salt wrote after it", async () => {
    const mark = new AliveMark(join(cachedir, "mark"));
    assert.equal(mark.sinceMs, 0);
    await minions.putGrains("a", encode({ os: "ours" }, "bin"), encode({}, "bin"));
    put(join(cachedir, "minions", "a", "data.p"), { grains: { os: "old" }, pillar: {} }, Date.now() - 60_000);
    mark.set("found");
    mark.end();
    assert.equal(mark.text, "found");
    const seen = { sinceMs: mark.sinceMs, readMs: mark.sinceMs };
    assert.deepEqual(await take(seen), { facts: 0, mines: 0, faults: 0 });
    put(join(cachedir, "minions", "a", "data.p"), { grains: { os: "new" }, pillar: {} }, Date.now() + 5_000);
    assert.equal((await take(seen)).facts, 1);
    assert.deepEqual(stored("a")?.[0], new Map([["os", "new"]]));
  });

  it("fills only what is missing where no sign of life tells which is newer", async () => {
    await minions.putGrains("a", encode({ os: "ours" }, "bin"), encode({}, "bin"));
    await minions.putMine("b", encode({ ip: "ours" }, "bin"));
    for (const id of ["a", "b"]) {
      put(join(cachedir, "minions", id, "data.p"), { grains: { os: "old" }, pillar: { role: "old" } });
      put(join(cachedir, "minions", id, "mine.p"), { ip: "old" });
    }
    assert.deepEqual(await take(), { facts: 1, mines: 1, faults: 0 });
    assert.deepEqual(stored("a"), [new Map([["os", "ours"]]), new Map()], "an empty pillar is one");
    assert.deepEqual(stored("b"), [new Map([["os", "old"]]), new Map([["role", "old"]])]);
    const mineOf = (id: string) => decode(minions.getMine(id) ?? Buffer.alloc(0));
    assert.deepEqual([mineOf("a"), mineOf("b")], [new Map([["ip", "old"]]), new Map([["ip", "ours"]])]);
  });

  it("does not count what says the same as our store, as files that were kept current do", async () => {
    await minions.putGrains("a", encode({ os: "ours" }, "bin"), encode({}, "bin"));
    put(join(cachedir, "minions", "a", "data.p"), { grains: { os: "ours" }, pillar: {} });
    assert.deepEqual(await take(), { facts: 0, mines: 0, faults: 0 });
    assert.deepEqual(await take({ sinceMs: 1 }), { facts: 0, mines: 0, faults: 0 });
  });

  it("takes what was copied in with its old time after the files were last read, and not what was there then", async () => {
    const copiedMs = Date.now() - 3_600_000;
    put(join(cachedir, "minions", "a", "mine.p"), { ip: "old" }, copiedMs);
    assert.equal((await take({ sinceMs: Date.now() + 3_000, readMs: Date.now() - 60_000 })).mines, 1);
    await minions.dropMine("a");
    assert.equal((await take({ sinceMs: Date.now() + 3_000, readMs: Date.now() + 60_000 })).mines, 0);
    await minions.putMine("a", encode({}, "bin"));
    assert.equal((await take({ sinceMs: Date.now() + 3_000, readMs: Date.now() - 60_000 })).mines, 0, "one of its own");
  });

  const old = (id: string) => {
    put(join(cachedir, "minions", id, "data.p"), { grains: { os: "old" }, pillar: { role: "old" } }, 1_000_000);
    put(join(cachedir, "minions", id, "mine.p"), { ip: "old" }, 1_000_000);
  };
  const copiedIn = () => ({ sinceMs: Date.now() + 3_000, readMs: Date.now() - 60_000 });

  it("gives a minion that signed in before its files were copied in its former mine, and leaves it its new pillar", async () => {
    await minions.putGrains("a", encode({ os: "new" }, "bin"), encode({}, "bin"));
    old("a");
    assert.deepEqual(await take(copiedIn()), { facts: 0, mines: 1, faults: 0 });
    assert.deepEqual(stored("a"), [new Map([["os", "new"]]), new Map()]);
  });

  it("brings back nothing that an operator cleared, and what a Salt master wrote since", async () => {
    for (const id of ["a", "b"]) {
      await minions.putGrains(id, encode({ os: "x" }, "bin"), encode({ role: "x" }, "bin"));
      await minions.putMine(id, encode({ ip: "x" }, "bin"));
      old(id);
    }
    await Promise.all([minions.dropFacts("a"), minions.dropMine("a"), minions.drop("b")]);
    assert.deepEqual(await take(copiedIn()), { facts: 0, mines: 0, faults: 0 });
    assert.deepEqual(await take(), { facts: 0, mines: 0, faults: 0 }, "without a mark");
    put(join(cachedir, "minions", "a", "mine.p"), { ip: "newer" }, Date.now() + 60_000);
    assert.deepEqual(await take(copiedIn()), { facts: 0, mines: 1, faults: 0 });
  });

  it("knows what was cleared for as long as the key is accepted or Salt has files", async () => {
    old("gone");
    await Promise.all(["a", "gone", "goner"].map((id) => minions.drop(id)));
    await take();
    assert.deepEqual(minions.forgottenIds(), ["a", "gone"]);
    await minions.close();
    minions = openMinionData({ path: join(cachedir, "minions.lmdb") });
    assert.deepEqual([minions.isForgotten("a", "facts"), minions.isForgotten("a", "mine")], [true, true]);
  });

  it("does not fill from files that were to be written anew", async () => {
    old("a");
    old("b");
    assert.equal((await take({ ...copiedIn(), isOutdated: (id) => id === "a" })).facts, 1);
    assert.deepEqual([stored("a"), minions.getMine("a")], [undefined, undefined]);
  });

  it("fills from files that are newer than `sinceMs`, although the data is outdated", async () => {
    old("a");
    const sinceMs = statSync(join(cachedir, "minions", "a", "data.p")).ctimeMs - 1;
    const taken = await take({ sinceMs, readMs: 0, isOutdated: () => true });
    assert.equal(taken.facts, 1);
  });

  it("notes nothing of a minion whose data nothing can bring back", async () => {
    await minions.drop("a", false);
    assert.deepEqual(minions.forgottenIds(), []);
  });
});

describe("finding Salt", () => {
  const temporary = temporaryDirectories();

  it("names its programs in PATH, and what its master left", () => {
    const cachedir = temporary();
    const bin = join(cachedir, "bin");
    put(join(bin, "salt-run"), Buffer.from("#!/bin/sh\n"));
    assert.deepEqual(
      findSaltPrograms(`/nowhere:${bin}`).filter((file) => file.startsWith(cachedir)),
      [join(bin, "salt-run")],
    );
    assert.deepEqual(findSaltFiles(cachedir), []);
    assert.deepEqual(layoutsIn(cachedir), ["folders", "kinds"]);
    put(join(cachedir, "grains", "a.p"), {});
    assert.deepEqual(layoutsIn(cachedir), ["kinds"]);
    put(join(cachedir, "minions", "a", "mine.p"), {});
    put(join(jobDirectory(cachedir, hashType, oldJid), "a", "return.p"), {});
    assert.equal(findSaltFiles(cachedir).length, 3);
    assert.deepEqual(layoutsIn(cachedir), ["folders", "kinds"]);
  });

  it("does not take for Salt's what a master of ours leaves: loads without returns", async () => {
    const cachedir = temporary();
    await openLocalCache({ cachedir, hashType }).keepJobs([loadOf(oldJid)]);
    assert.deepEqual(findSaltFiles(cachedir), []);
  });
});
