/** Salt's job directories: byte for byte those of real Salt, and the contract of job caches. */

import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { jobDirectory } from "../../../src/store/salt/job-files.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import { jobCacheContract } from "../../contract/job-cache.ts";
import { loadOf, returnOf } from "../../contract/job-samples.ts";
import { returnsIn } from "../../contract/returns-in.ts";
import { repositoryRoot } from "../../root.ts";
import { temporaryDirectories } from "../temporary.ts";

const hashType = "sha256";
const jid = "20260102030405000001";

jobCacheContract(
  "local_cache",
  async () => {
    const cachedir = mkdtempSync(join(tmpdir(), "saltworks-local-"));
    const open = () => openLocalCache({ cachedir, hashType });
    return {
      cache: open(),
      reopen: async () => open(),
      remove: async () => rmSync(cachedir, { recursive: true }),
      age: (job, storedMs) =>
        utimesSync(join(jobDirectory(cachedir, hashType, job), "jid"), storedMs / 1_000, storedMs / 1_000),
    };
  },
  { keepsWholeBody: false, keepsMissing: false },
);

/** Every file below a directory by its relative path, as base64. */
function filesIn(directory: string, inside = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(join(directory, inside), { withFileTypes: true })) {
    const path = join(inside, entry.name);
    if (entry.isDirectory()) Object.assign(found, filesIn(directory, path));
    else found[path] = readFileSync(join(directory, path)).toString("base64");
  }
  return found;
}

describe("job directories recorded from real Salt", () => {
  const temporary = temporaryDirectories();
  const vectors = JSON.parse(readFileSync(join(repositoryRoot, "test/vectors/jobcache.json"), "utf8"));
  for (const [release, jobs] of Object.entries<{ dir: string; jid: string; files_b64: Record<string, string> }[]>(
    vectors.by_release,
  )) {
    for (const { dir, jid: job, files_b64: files } of jobs) {
      it(`${release}, ${job}: read, and written again byte for byte`, async () => {
        const theirs = temporary();
        for (const [name, content] of Object.entries(files)) {
          const path = join(theirs, "jobs", dir, name);
          mkdirSync(dirname(path), { recursive: true });
          writeFileSync(path, Buffer.from(content, "base64"));
        }
        const source = openLocalCache({ cachedir: theirs, hashType });
        const load = await source.job(job);
        assert.ok(load);
        const ours = temporary();
        const target = openLocalCache({ cachedir: ours, hashType });
        await target.keepJobs([load]);
        await target.keepReturns(
          (await returnsIn(source, job)).map(({ minionId, body }) => ({ jid: job, minionId, body })),
        );
        assert.deepEqual(filesIn(join(ours, "jobs", dir)), files);
      });
    }
  }
});

describe("Salt's layout", () => {
  const temporary = temporaryDirectories();

  it("reads a bare value, as releases before 2018.3 wrote it, and the lists of lower masters", async () => {
    const cachedir = temporary();
    const cache = openLocalCache({ cachedir, hashType });
    await cache.keepJobs([loadOf(jid, ["a"])]);
    const directory = jobDirectory(cachedir, hashType, jid);
    writeFileSync(join(directory, ".minions.syndic1.p"), encode(["b", "a"], "bin"));
    mkdirSync(join(directory, "old"));
    writeFileSync(join(directory, "old", "return.p"), encode("bare", "bin"));
    assert.deepEqual((await cache.job(jid))?.minions.toSorted(), ["a", "b"]);
    assert.equal((decode((await cache.returnOf(jid, "old")) ?? Buffer.alloc(0)) as ValueMap).get("return"), "bare");
  });

  it("stores no return where `nocache` says so", async () => {
    const cachedir = temporary();
    const cache = openLocalCache({ cachedir, hashType });
    await cache.keepJobs([loadOf(jid)]);
    writeFileSync(join(jobDirectory(cachedir, hashType, jid), "nocache"), "");
    await cache.keepReturns([returnOf(jid, "a")]);
    assert.deepEqual(await returnsIn(cache, jid), []);
  });

  it("keeps the outputter of a return in a file of its own", async () => {
    const cachedir = temporary();
    const cache = openLocalCache({ cachedir, hashType });
    const body = encode({ return: { a: 1 }, out: "highstate", retcode: 2 }, "bin");
    await cache.keepReturns([{ jid, minionId: "a", body }]);
    const directory = join(jobDirectory(cachedir, hashType, jid), "a");
    assert.equal(decode(readFileSync(join(directory, "out.p"))), "highstate");
    assert.deepEqual(
      decode(readFileSync(join(directory, "return.p"))),
      new Map<string, unknown>([
        ["return", new Map([["a", 1]])],
        ["retcode", 2],
      ]),
    );
  });

  it("passes over files that are damaged, and gives the rest", async () => {
    const cachedir = temporary();
    const cache = openLocalCache({ cachedir, hashType });
    const other = "20260102030405000002";
    for (const job of [jid, other]) await cache.keepJobs([loadOf(job, ["a", "b"])]);
    await cache.keepReturns([returnOf(jid, "a"), returnOf(jid, "b")]);
    writeFileSync(join(jobDirectory(cachedir, hashType, other), ".load.p"), "");
    writeFileSync(join(jobDirectory(cachedir, hashType, other), ".minions.p"), Buffer.of(0xdc));
    writeFileSync(join(jobDirectory(cachedir, hashType, jid), "a", "return.p"), Buffer.of(0x83, 0xa1));
    assert.deepEqual(await cache.find({ limit: 10 }), [jid]);
    assert.deepEqual(await cache.list({ newestFirst: true, limit: 10 }), [jid]);
    assert.deepEqual(
      (await returnsIn(cache, jid)).map(({ minionId }) => minionId),
      ["b"],
    );
    assert.deepEqual((await cache.job(other))?.minions, []);
  });

  it("gives files to its group and no others, whatever the umask", async () => {
    const cachedir = temporary();
    await openLocalCache({ cachedir, hashType }).keepJobs([loadOf(jid)]);
    const path = join(jobDirectory(cachedir, hashType, jid), ".load.p");
    assert.equal(statSync(path).mode & 0o777, 0o640);
  });

  it("writes a return again of which a master that was killed had made only the folder", async () => {
    const cachedir = temporary();
    const cache = openLocalCache({ cachedir, hashType });
    mkdirSync(join(jobDirectory(cachedir, hashType, jid), "a"), { recursive: true });
    assert.deepEqual(await cache.keepReturns([returnOf(jid, "a")]), ["stored"]);
    assert.deepEqual(await cache.keepReturns([returnOf(jid, "a")]), ["duplicate"]);
    assert.equal((await returnsIn(cache, jid)).length, 1);
  });

  it("keeps a job's files from returns of minions with their names", async () => {
    const cachedir = temporary();
    const cache = openLocalCache({ cachedir, hashType });
    await cache.keepJobs([loadOf(jid)]);
    const names = ["jid", "nocache", ".load.p"];
    assert.deepEqual(
      await cache.keepReturns(names.map((id) => returnOf(jid, id))),
      names.map(() => "duplicate"),
    );
    assert.deepEqual(await cache.keepReturns([returnOf(jid, "a")]), ["stored"]);
    assert.equal(readFileSync(join(jobDirectory(cachedir, hashType, jid), "jid"), "utf8"), jid);
  });

  it("leaves nothing of a return that could not be written: the next try is not a duplicate", async () => {
    const minionId = "m".repeat(100);
    // The system's longest path is enough for the directory, but not for the file in it.
    const inside = jobDirectory("", hashType, jid).length + "/".length + minionId.length;
    let cachedir = temporary();
    while (cachedir.length + inside < 4_000) cachedir = join(cachedir, "d".repeat(90));
    cachedir = join(cachedir, "d".repeat(4_090 - inside - cachedir.length));
    const cache = openLocalCache({ cachedir, hashType });
    for (let tries = 0; tries < 2; tries += 1)
      await assert.rejects(cache.keepReturns([returnOf(jid, minionId)]), { code: "STORE_FAILED" });
    assert.equal(existsSync(join(jobDirectory(cachedir, hashType, jid), minionId)), false);
  });

  it("follows hash_type", () => {
    assert.match(jobDirectory("/c", "md5", jid), /^\/c\/jobs\/[0-9a-f]{2}\/[0-9a-f]{30}$/);
    assert.match(jobDirectory("/c", "sha512", jid), /^\/c\/jobs\/[0-9a-f]{2}\/[0-9a-f]{126}$/);
  });
});
