import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openKeptMinions } from "../../../src/master/upkeep/kept-minions.ts";
import { closeEnvironment, openDatabase, openEnvironment } from "../../../src/store/lmdb/env.ts";
import { openMinionData } from "../../../src/store/minions/data.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

describe("the minions' data of the main thread", () => {
  const temporary = temporaryDirectories();

  it("tells the log of a damaged session, which counts as absent", async () => {
    const cachedir = temporary();
    const path = join(cachedir, "minions.lmdb");
    const stored = openMinionData({ path });
    await stored.putSession("web1", Buffer.from("sealed"));
    await stored.close();
    const environment = openEnvironment({ file: join(path, "data.mdb"), isReadOnly: false, isSyncedOnCommit: true });
    const sessions = openDatabase(environment, "sessions");
    const key = Buffer.from("web1");
    const value = Buffer.from(sessions.getBinary(key) ?? "");
    value.writeUInt8(value.readUInt8(value.length - 1) ^ 1, value.length - 1);
    await sessions.put(key, value);
    await closeEnvironment(environment);
    const logged: unknown[][] = [];
    const minions = openKeptMinions({ cachedir }, { error: (...words: unknown[]) => void logged.push(words) });
    assert.equal(minions.getSession("web1"), undefined);
    await minions.close();
    const [[{ err } = { err: undefined }, text] = []] = logged as [[{ err: Error }, string]];
    assert.equal(logged.length, 1);
    assert.equal(text, "the minions' data is damaged");
    assert.match(String(err?.message), /the session of web1 in .* is not what was stored/);
  });
});
