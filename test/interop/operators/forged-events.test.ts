/** A minion cannot show its own words as another minion's answer: Salt's own command line on our master. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { startOurMaster } from "../../fleet/our-master.ts";
import { Forger, forgedText, genuineText } from "../../fleet/rights/forger.ts";
import { runCommand } from "../program.ts";
import { openReleases } from "../salt-releases.ts";

const releases = await openReleases();
const commandTimeoutMs = 120_000;

describe("Salt's salt command beside a minion that fires another minion's result", { skip: releases.skip }, () => {
  let master: MasterProcess;
  let forger: Forger;
  before(async () => {
    master = await startOurMaster(2, { auto_accept: true });
    forger = await Forger.open(master);
  });
  after(async () => {
    forger?.close();
    await master?.remove();
  });

  for (const release of releases.all) {
    it(`shows in ${release.version} what the minion said itself`, async () => {
      const words = ["-c", master.configDirectory, "-t", "60", "--out=json", "-L", "victim,liar", "test.ping"];
      const answer = await runCommand(release.program("salt"), words, { timeoutMs: commandTimeoutMs });
      const output = answer.stdout.toString() + answer.stderr.toString();
      assert.doesNotMatch(output, new RegExp(`${forgedText}|ghost`));
      assert.match(output, new RegExp(`"victim": "${genuineText}"`));
      await forger.settled();
      assert.deepEqual(forger.faults, []);
    });
  }
});
