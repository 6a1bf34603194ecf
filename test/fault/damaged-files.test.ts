/** A master that starts with garbage in one of its files, or a directory in its place: it ends with 1 and a sentence that names the file. */
import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { withoutNodeVariables } from "../../src/cli/daemon/node-environment.ts";
import { loadMasterConfig } from "../../src/config/load.ts";
import { prepareStores } from "../../src/master/upkeep/store-start.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { ensureMasterKeys } from "../../src/store/keys/master-keys.ts";
import { openMinionData } from "../../src/store/minions/data.ts";
import { MirrorQueue } from "../../src/store/salt/mirror-queue.ts";
import { openSecretBox } from "../../src/store/secrets/sealed.ts";
import { openMasterSecrets } from "../../src/store/secrets/secrets.ts";
import { returnOf } from "../contract/job-samples.ts";
import { needsRoot, type OrdinaryUser, ordinaryUser } from "../fleet/ordinary-user.ts";
import { cliFile } from "../fleet/our-master.ts";
import { temporaryDirectories } from "../store/temporary.ts";

const endTimeoutMs = 60_000;

const ending = { encoding: "utf8", timeout: endTimeoutMs, env: withoutNodeVariables(process.env) } as const;
const silent = { error: () => undefined, info: () => undefined, warn: () => undefined };

/** @returns the output of a master that ended by itself with 1 and a message */
function ended({ status, signal, stdout, stderr }: SpawnSyncReturns<string>): string {
  const told = stdout + stderr;
  assert.equal(signal, null, told);
  assert.equal(status, 1, told);
  assert.doesNotMatch(told, /^\s+at /m, "no stack");
  return told;
}

/** All pages except the two of LMDB's head. */
function spoilPages(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0x47, 2 * 4_096));
}

function giveTo(path: string, { uid, gid }: OrdinaryUser): void {
  chownSync(path, uid, gid);
  for (const entry of readdirSync(path, { recursive: true, encoding: "utf8" })) chownSync(join(path, entry), uid, gid);
}

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
    // The start ends before this port is used for long.
    const rest = { interface: "127.0.0.1", log_file: join(root, "log"), keysize: 2_048, worker_threads: 1 };
    writeFileSync(join(root, "master"), JSON.stringify({ ...paths, ...rest }));
    ensureMasterKeys(join(root, "pki"), 2_048);
    const jobs = openLmdbJobCache({ path: join(root, "cache", "jobs.lmdb"), shards: 1, durability: "fsync" });
    await jobs.keepReturns([returnOf("20260102030405000001", "m1", "x")]);
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
    ["nothing", "cache/jobs.lmdb/0.mdb", nothing],
    ["no file", "cache/jobs.lmdb/0.mdb", (path: string) => rmSync(path)],
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
      const told = ended(spawnSync(process.execPath, [cliFile, "master", "-c", root], ending));
      assert.ok(told.includes(join(root, path)), told);
    });
  }

  it("starts again once an empty file is moved away with its cache, and says meanwhile that jobs were there", async () => {
    nothing(join(root, "cache/jobs.lmdb/0.mdb"));
    const told = ended(spawnSync(process.execPath, [cliFile, "master", "-c", root], ending));
    assert.match(told, /0\.mdb is empty, and jobs were stored there\. Put back a copy/);
    assert.equal(statSync(join(root, "cache/jobs.lmdb/0.mdb")).size, 0, "nothing was made of it");
    rmSync(join(root, "cache/jobs.lmdb"), { recursive: true });
    const config = loadMasterConfig(root);
    await prepareStores(config, silent as never);
  });

  it("names files that were emptied, whose content can be asked for again or is told to be gone, and starts", async () => {
    const lines: string[] = [];
    const files = ["minions.lmdb", "pending-jobs.lmdb"].map((name) => join(root, "cache", name, "data.mdb"));
    for (const path of files) {
      mkdirSync(dirname(path));
      nothing(path);
    }
    const start = () =>
      prepareStores(loadMasterConfig(root), { ...silent, error: (line: string) => lines.push(line) } as never);
    await start();
    assert.deepEqual(lines, [], "nothing stood in them");
    const laterSeconds = Date.now() / 1_000 + 10;
    for (const path of files) utimesSync(path, laterSeconds, laterSeconds);
    await start();
    assert.match(lines.join("\n"), /minions\.lmdb\/data\.mdb is empty: minions are asked again/);
    assert.match(
      lines.join("\n"),
      /pending-jobs\.lmdb\/data\.mdb is empty: jobs that waited there for minions are gone/,
    );
  });

  for (const [what, damage] of [
    ["garbage", garbage],
    ["a file that was cut", (path: string) => truncateSync(path, 3 * 4_096)],
    ["a page that is not what was written", (path: string) => spoilPages(path)],
  ] as const)
    it(`starts with ${what} where it notes what is to be written into Salt's files, and notes all anew`, async () => {
      const path = join(root, "cache/salt-files.lmdb/feed.mdb");
      const queue = new MirrorQueue(path);
      queue.addMinions(Array.from({ length: 500 }, (_, index) => `m${index}`));
      queue.markFilled();
      await queue.close();
      damage(path);
      const told = spawnSync(process.execPath, [cliFile, "check-store", "-c", root], ending);
      assert.ok(told.stdout.includes(path), told.stdout + told.stderr);
      const lines: string[] = [];
      const warn = (_: unknown, line: string) => lines.push(line);
      await prepareStores(loadMasterConfig(root), { ...silent, warn } as never);
      assert.match(
        lines.join("\n"),
        /feed\.mdb is damaged or cannot be read: Salt's own files are written anew from what is stored/,
      );
      const next = new MirrorQueue(path);
      assert.equal(next.isFilled, false);
      await next.close();
    });

  it("starts where that cannot be read at all, with salt_files: never as well", async () => {
    const directory = join(root, "cache/salt-files.lmdb");
    const queue = join(directory, "feed.mdb");
    for (const damage of [
      () => mkdirSync(queue, { recursive: true }),
      () => mkdirSync(`${queue}-lock`, { recursive: true }),
      () => writeFileSync(directory, "a file in place of the directory"),
    ]) {
      damage();
      const lines: string[] = [];
      const warn = (_: unknown, line: string) => lines.push(line);
      await prepareStores(loadMasterConfig(root, { salt_files: "never" }), { ...silent, warn } as never);
      assert.match(lines.join("\n"), /feed\.mdb is damaged or cannot be read/);
      assert.equal(existsSync(directory), false);
    }
  });

  describe("that its user may not read", { skip: needsRoot }, () => {
    let user: OrdinaryUser;
    before(() => {
      user = ordinaryUser();
    });
    after(() => user.remove());

    for (const path of [
      "cache/jobs.lmdb/0.mdb",
      "cache/jobs.lmdb/layout.json",
      "cache/minions.lmdb/data.mdb",
      "cache/pending-jobs.lmdb/data.mdb",
      "pki/master.pem",
      "pki/.secrets.sealed",
    ]) {
      it(`names ${path} and what the system says, whether it is started or checked`, async () => {
        await openMinionData({ path: join(root, "cache/minions.lmdb") }).close();
        const pending = join(root, "cache/pending-jobs.lmdb");
        mkdirSync(pending);
        cpSync(join(root, "cache/minions.lmdb/data.mdb"), join(pending, "data.mdb"));
        mkdirSync(join(root, "cache/tokens"));
        const { privatePem } = ensureMasterKeys(join(root, "pki"), 2_048);
        const box = openSecretBox(privatePem, join(root, "pki/.seal-salt"));
        openMasterSecrets({ file: join(root, "pki/.secrets.sealed"), box }).close();
        giveTo(root, user);
        chmodSync(join(root, path), 0);
        const own = { ...ending, uid: user.uid, gid: user.gid, env: user.env, cwd: "/" };
        const told = ended(spawnSync(user.program, ["master", "-c", root], own));
        assert.ok(told.includes(join(root, path)), told);
        assert.match(told, /EACCES/);
        const { status, stdout } = spawnSync(user.program, ["check-store", "-c", root], own);
        assert.equal(status, 2, stdout);
        const unread = stdout.split("\n").filter((line) => line.includes("not read:"));
        assert.ok(
          unread.some((line) => line.includes("EACCES") && line.includes(join(root, path))),
          stdout,
        );
        assert.match(stdout, /Some data could not be read/);
      });
    }
  });
});
