/** Stored grains, pillar, mine and session of each minion. */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openMinionData } from "../../../src/store/minions/data.ts";
import { temporaryDirectories } from "../temporary.ts";

const bytes = (text: string) => Buffer.from(text, "latin1");

describe("minion data", () => {
  const temporary = temporaryDirectories();

  it("keeps everything of a minion apart from the others, over a restart", async () => {
    const path = join(temporary(), "minions.lmdb");
    const first = openMinionData({ path });
    await first.putGrains("a", bytes("grains \xff"), bytes(""));
    await first.putGrains("b", bytes(""), bytes("pillar"));
    await first.putMine("a", bytes("mine"));
    await first.putSession("c", bytes("sealed"));
    await first.close();
    const second = openMinionData({ path });
    assert.deepEqual(second.get("a"), { grains: bytes("grains \xff"), pillar: bytes("") });
    assert.deepEqual(second.get("b"), { grains: bytes(""), pillar: bytes("pillar") });
    assert.deepEqual(second.ids(), ["a", "b"]);
    assert.deepEqual([second.getMine("a"), second.getMine("b")], [bytes("mine"), undefined]);
    assert.deepEqual([second.getSession("c"), second.get("c")], [bytes("sealed"), undefined]);
    await second.close();
  });

  it("fails with STORE_FAILED where its directory cannot be made", () => {
    const file = join(temporary(), "file");
    writeFileSync(file, "");
    assert.throws(() => openMinionData({ path: join(file, "minions.lmdb") }), { code: "STORE_FAILED" });
  });

  it("forgets a session alone, or all of a minion", async () => {
    const data = openMinionData({ path: temporary() });
    await Promise.all([
      data.putGrains("a", bytes("g"), bytes("p")),
      data.putMine("a", bytes("m")),
      data.putSession("a", bytes("s")),
    ]);
    await data.dropSession("a");
    assert.deepEqual([data.getSession("a"), data.getMine("a")], [undefined, bytes("m")]);
    await data.drop("a");
    await data.drop("never there");
    assert.deepEqual([data.get("a"), data.getMine("a"), data.ids()], [undefined, undefined, []]);
    await data.close();
  });

  it("reads as empty, and makes nothing, where there is none", () => {
    const path = join(temporary(), "none");
    const data = openMinionData({ path, isReadOnly: true });
    assert.deepEqual([data.ids(), data.get("a"), data.getSession("a")], [[], undefined, undefined]);
    assert.equal(existsSync(path), false);
  });
});
