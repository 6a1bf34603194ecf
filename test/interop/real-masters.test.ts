import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import type { EventWatch } from "./event-watch.ts";
import { testJobs } from "./job-list.ts";
import { Operator } from "./operator.ts";
import { openReleases } from "./salt-releases.ts";
import { readLocalCache } from "./stored-return.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "./test-bed.ts";

const releases = await openReleases();
const minionId = "ours.example.com";
const signInTimeoutMs = 60_000;

if (releases.skip !== false) describe("our minion on a real master", { skip: releases.skip });

for (const release of releases.skip === false ? releases.all : []) {
  describe(`our minion on a real master, Salt ${release.version}`, () => {
    const bed = new TestBed();
    let master: MasterUnderTest;
    let operator: Operator;
    let watch: EventWatch;

    before(async () => {
      master = await MasterUnderTest.create(bed, release, { timeout: 60, gather_job_timeout: 20 });
      await master.start();
      watch = await bed.watchEvents(master.sockDir);
      operator = new Operator(release, master);
      new MinionUnderTest(master, "ours", minionId, { recon_default: 100, recon_max: 500, recon_randomize: false });
    });
    after(() => bed.close());

    bed.it("has its key listed as unaccepted, then accepted, and starts", async () => {
      await watch.until(
        "key pending",
        ({ tag, data }) => tag === "salt/auth" && data.get("act") === "pend",
        signInTimeoutMs,
      );
      const before = (await operator.json("key", ["-L"])) as Record<string, string[]>;
      assert.deepEqual(before.minions_pre, [minionId]);
      await operator.run("key", ["-y", "-a", minionId]);
      await watch.until("minion start", ({ tag }) => tag === `salt/minion/${minionId}/start`, signInTimeoutMs);
      const after = (await operator.json("key", ["-L"])) as Record<string, string[]>;
      assert.deepEqual([after.minions, after.minions_pre], [[minionId], []]);
    });

    testJobs(
      "answers",
      () => ({
        bed,
        operator,
        minionId,
        readStored: (jid, id) => readLocalCache(master.cacheDir, jid, id),
        showsTrimmed: true,
      }),
      bed,
    );

    bed.it("answers on through a key rotation", async () => {
      const shown = (await operator.json("key", ["-p", minionId])) as { minions: Record<string, string> };
      writeFileSync(join(master.pkiDir, "minions", "gone"), shown.minions[minionId] ?? "");
      await operator.run("key", ["-y", "-d", "gone"]);
      await untilAnswered();
    });

    bed.it("answers again after a restart, at which a real master takes new keys", async () => {
      await master.program.kill();
      await master.start();
      await untilAnswered();
    });

    async function untilAnswered(): Promise<void> {
      const deadlineMs = performance.now() + signInTimeoutMs;
      for (;;) {
        const answer = await operator.json("salt", ["-t", "2", minionId, "test.ping", "--static"]);
        if (JSON.stringify(answer) === JSON.stringify({ [minionId]: true })) return;
        assert.ok(performance.now() < deadlineMs, `no answer: ${JSON.stringify(answer)}`);
      }
    }
  });
}
