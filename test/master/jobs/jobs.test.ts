/** A job that was recorded but could not be sent is not run later, and no minion is asked about it. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Jobs, type JobsParts, trackerOf } from "../../../src/master/jobs/jobs.ts";
import { jobStatus } from "../../../src/master/operators/job-status.ts";
import { ownJob } from "../../../src/master/publish/own-job.ts";
import { openPendingJobs } from "../../../src/store/jobs/pending-jobs.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const jid = "20260101000000000000";
const published = { jid, minions: TextList.of(["away", "there"]), missing: [] };
const job = ownJob("cmd.run", ["true"], "*", "glob", "root");
const times = { timeoutMs: 60_000, gatherTimeoutMs: 60_000 };
const within = { seconds: 3_600, isDefault: false };

describe("Jobs", () => {
  const makeFolder = temporaryDirectories();
  let jobs: Jobs;
  let fired: string[];
  let errors: unknown[];
  let cachedir: string;
  beforeEach(() => {
    fired = [];
    errors = [];
    cachedir = makeFolder();
    const config = { presence_events: false, gather_job_timeout: 60, timeout: 60, pki_dir: "", cachedir };
    const logger = { error: (details: unknown) => void errors.push(details) };
    const presence = { isGone: () => false, isConnected: () => true, contactMs: () => undefined };
    const publisher = {
      publish: () => Promise.reject(new Error("nothing is published")),
      onSent: () => undefined,
      onTaken: () => undefined,
      close: async () => undefined,
    };
    jobs = new Jobs({
      ...{ config, logger, presence, publisher },
      tracker: trackerOf({ config, logger } as unknown as JobsParts, publisher, presence, undefined),
      authorisation: { mayStillPublish: () => Promise.resolve(true) },
      start: { accepted: new Set(["away", "there"]) },
      bus: { fire: (tag: string) => void fired.push(tag) },
      pendingJobs: openPendingJobs(join(makeFolder(), "pending")),
    } as unknown as JobsParts);
  });
  afterEach(async () => {
    await jobs.close();
    assert.deepEqual(errors, []);
  });

  it("gives up a job that could not be sent", async () => {
    const failed = jobs.beginning(async (begin) => {
      await begin(job, published, times, within);
      assert.deepEqual([jobs.deliveries.jobCount, jobs.tracker.followedCount], [1, 1]);
      throw new Error("the socket is closed");
    });
    await assert.rejects(failed, /the socket is closed/);
    assert.deepEqual([jobs.deliveries.jobCount, jobs.tracker.followedCount], [0, 0]);
    assert.deepEqual(fired, [`saltworks/job/${jid}/done`]);
  });

  it("keeps a job that was sent", async () => {
    const sent = await jobs.beginning(async (begin) => {
      await begin(job, published, times, within);
      return "sent";
    });
    assert.equal(sent, "sent");
    assert.deepEqual([jobs.deliveries.jobCount, jobs.tracker.followedCount], [1, 1]);
  });

  it("is over for a question about minions of which it has none", async () => {
    jobs.tracker.track({ jid, fun: "cmd.run", user: "root", minions: published.minions, missing: [] });
    const question = { jid, minion: undefined, state: "lost", countMax: 10 } as const;
    const isOver = () => jobStatus(jobs, question, Date.now())?.overMs !== undefined;
    assert.equal(isOver(), false);
    for (const id of ["away", "there"]) jobs.tracker.noteReturn(jid, id, () => new Uint8Array());
    assert.equal(isOver(), true);
  });

  it("leaves the former job under an id alone when another is refused it", async () => {
    await jobs.begin(job, published, times, within);
    const refused = jobs.beginning(async () => {
      throw new Error("too many jobs wait");
    });
    await assert.rejects(refused, /too many/);
    assert.deepEqual([jobs.deliveries.jobCount, jobs.tracker.followedCount], [1, 1]);
  });

  it("calls no minion never seen while the minions' data cannot be read, and says so once", () => {
    mkdirSync(join(cachedir, "minions.lmdb"));
    writeFileSync(join(cachedir, "minions.lmdb", "data.mdb"), "no store");
    for (const id of ["away", "there"]) assert.equal(jobs.reasonSources.isKnown(id), true);
    assert.equal(errors.splice(0).length, 1);
  });
});
