/** A master that is started where a file is garbage, or a directory stands in its place: it ends with 1 and a sentence that names the file. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { openLmdbJobCache } from "../../src/store/lmdb-job-cache.ts";
import { ensureMasterKeys } from "../../src/store/master-keys.ts";
import { returnOf } from "../contract/job-cache.ts";
import { cliFile } from "../fleet/our-master.ts";
import { temporaryDirectories } from "../store/temporary.ts";

const endTimeoutMs = 60_000;

describe("a master on damaged files", () => {
  const temporary = temporaryDirectories();
  let root = "";

  beforeEach(async () => {
    root = temporary();
    const paths = {
      root_dir: "/",
      cachedir: join(root, "cache"),
      pki_dir: join(root, "pki"),
      sock_dir: join(root, "s"),
    };
    for (const name of ["cache", "pki", "s"]) mkdirSync(join(root, name));
    // Nothing listens there for long: the start ends before.
    const rest = { interface: "127.0.0.1", log_file: join(root, "log"), keysize: 2_048, worker_threads: 1 };
    writeFileSync(join(root, "master"), JSON.stringify({ ...paths, ...rest }));
    ensureMasterKeys(join(root, "pki"), 2_048);
    const jobs = openLmdbJobCache({ path: join(root, "cache", "jobs.lmdb"), shards: 1, durability: "fsync" });
    await jobs.putReturns([returnOf("20260102030405000001", "m1", "x")]);
    await jobs.close();
  });

  const garbage = (path: string) => writeFileSync(path, "garbage\n".repeat(2_000));
  const directory = (path: string) => {
    rmSync(path, { force: true });
    mkdirSync(path, { recursive: true });
  };
  const nothing = (path: string) => writeFileSync(path, "");
  const file = (path: string) => {
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, "x");
  };

  for (const [what, path, damage] of [
    ["garbage", "cache/jobs.lmdb/layout.json", garbage],
    ["nothing", "cache/jobs.lmdb/layout.json", nothing],
    ["garbage", "cache/jobs.lmdb/0.mdb", garbage],
    ["a directory", "cache/jobs.lmdb/0.mdb", directory],
    ["a directory", "cache/jobs.lmdb/0.mdb-lock", directory],
    ["a directory", "cache/jobs.lmdb/returns-999999999-999999999-1-abcdef.log", directory],
    ["a file", "cache/jobs.lmdb", file],
    ["a file", "cache/tokens", file],
    ["a directory", "cache/.root_key", directory],
    ["a directory", "pki/master.pem", directory],
    ["a directory", "pki/.secrets.sealed", directory],
  ] as const) {
    it(`names ${path}, where ${what} stands`, () => {
      damage(join(root, path));
      const { status, signal, stdout, stderr } = spawnSync(process.execPath, [cliFile, "master", "-c", root], {
        encoding: "utf8",
        timeout: endTimeoutMs,
      });
      const told = stdout + stderr;
      assert.equal(signal, null, told);
      assert.equal(status, 1, told);
      assert.ok(told.includes(join(root, path)), told);
      assert.doesNotMatch(told, /^\s+at /m, "no stack");
    });
  }
});
