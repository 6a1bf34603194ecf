/** The store of jobs that wait for absent minions, where it cannot be made. `test/master/jobs` has what it keeps. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openPendingJobs } from "../../../src/store/jobs/pending-jobs.ts";
import { temporaryDirectories } from "../temporary.ts";

describe("pending jobs", () => {
  const temporary = temporaryDirectories();

  it("fail with STORE_FAILED where their directory cannot be made", () => {
    const file = join(temporary(), "file");
    writeFileSync(file, "");
    assert.throws(() => openPendingJobs(join(file, "pending-jobs.lmdb")), { code: "STORE_FAILED" });
  });
});
