/** `saltworks check-store`: exit codes and words for stores that are whole, damaged, and not to be read. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import { claimInstance } from "../../src/store/instance-lock.ts";
import { openLmdbJobCache } from "../../src/store/lmdb-job-cache.ts";
import { ensureMasterKeys } from "../../src/store/master-keys.ts";
import { openMinionData } from "../../src/store/minion-data.ts";
import { openSecretBox } from "../../src/store/sealed.ts";
import { openMasterSecrets } from "../../src/store/secrets.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { sealSession } from "../../src/workers/session-record.ts";
import { loadOf, returnOf } from "../contract/job-cache.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { TestHost } from "./test-host.ts";

const jid = "20260102030405000001";

describe("saltworks check-store", () => {
  const temporary = temporaryDirectories();
  let root = "";
  const at = (...names: string[]) => join(root, ...names);

  beforeEach(async () => {
    root = temporary();
    for (const name of ["cache", "pki", "sock"]) mkdirSync(at(name));
    writeFileSync(at("master"), `cachedir: ${at("cache")}\npki_dir: ${at("pki")}\nsock_dir: ${at("sock")}\n`);
    const { privatePem, publicPem } = ensureMasterKeys(at("pki"), 2_048);
    const box = openSecretBox(privatePem, at("pki", ".seal-salt"));
    openMasterSecrets({ file: at("pki", ".secrets.sealed"), box }).close();
    mkdirSync(at("pki", "minions"));
    writeFileSync(at("pki", "minions", "m1"), publicPem);
    const jobs = openLmdbJobCache({ path: at("cache", "jobs.lmdb"), shards: 1, durability: "fsync" });
    await jobs.putLoad(loadOf(jid, ["m1"]));
    await jobs.putReturns([returnOf(jid, "m1", "a value that is told apart from all others")]);
    await jobs.close();
    const minions = openMinionData({ path: at("cache", "minions.lmdb") });
    await minions.putGrains("m1", encode({ os: "Debian" }, "bin"), encode({}, "bin"));
    await minions.putSession("m1", sealSession(box, "m1", { keyString: "k", createdMs: 1 }));
    await minions.close();
    const tokens = at("cache", "tokens");
    mkdirSync(tokens);
    writeFileSync(join(tokens, "ab".repeat(32)), encode({ token: "ab".repeat(32), expire: 1 }, "bin"));
  });

  async function check(...more: string[]): Promise<{ code: number; out: string }> {
    const host = new TestHost();
    const code = await dispatch(["check-store", "-c", root, ...more], host);
    return { code, out: host.out + host.err };
  }

  function damage(file: string, text = ""): void {
    const bytes = readFileSync(file);
    const place = bytes.lastIndexOf(text);
    assert.ok(place > 0);
    bytes[place - 5] = (bytes[place - 5] ?? 0) ^ 0x02;
    writeFileSync(file, bytes);
  }

  it("ends with 0 when all is whole, whether a master runs or not", async () => {
    const { code, out } = await check();
    assert.equal(code, 0, out);
    for (const line of [
      /^keys \(.*\): 2 records, whole$/m,
      /^jobs \(.*\): 2 records, whole$/m,
      /^tokens \(.*\): 1 record, whole$/m,
    ])
      assert.match(out, line);
    assert.match(out, /\nAll is whole\.\n$/);
    const lock = claimInstance([at("cache")]);
    assert.equal((await check()).code, 0);
    lock.release();
  });

  it("ends with 1 and names each record that is damaged", async () => {
    damage(at("cache", "jobs.lmdb", "0.mdb"), "told apart");
    damage(at("pki", ".secrets.sealed"));
    writeFileSync(at("pki", "minions", "m2"), "no key");
    writeFileSync(at("cache", "tokens", "cd".repeat(32)), "x");
    const { code, out } = await check();
    assert.equal(code, 1, out);
    assert.match(out, /the return of m1 for job 20260102030405000001 is not what was stored/);
    assert.match(out, /\.secrets\.sealed does not open under this master's key: minions will authenticate again/);
    assert.match(out, /minions\/m2 is no key of a minion/);
    assert.match(out, /is no token: its user must log in again/);
    const { state, parts } = JSON.parse((await check("--json")).out) as {
      state: string;
      parts: { what: string; faultCount: number }[];
    };
    assert.equal(state, "damaged");
    assert.deepEqual(
      parts.filter(({ faultCount }) => faultCount > 0).map(({ what }) => what),
      ["keys", "sealed secrets", "jobs", "tokens"],
    );
  });

  it("ends with 2 when something cannot be read, and reads the rest", async () => {
    const file = at("cache", "minions.lmdb", "data.mdb");
    rmSync(file);
    mkdirSync(file);
    const { code, out } = await check();
    assert.equal(code, 2, out);
    assert.match(out, /^minions' data \(.*\): not read: EISDIR/m);
    assert.match(out, /^tokens \(.*\): 1 record, whole$/m);
  });
});
