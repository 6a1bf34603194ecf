/** A minion cannot show its own words as another minion's answer: our command line on a real master, under each rule for tags. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";
import { Forger, forgedText, genuineText } from "./forger.ts";

const commandTimeoutMs = 60_000;

describe("a minion that fires another minion's result", () => {
  for (const rules of ["strict", "salt"]) {
    it(`is not believed by our command line with minion_event_tags: ${rules}`, async () => {
      const master = await startOurMaster(2, { auto_accept: true, minion_event_tags: rules });
      const forger = await Forger.open(master);
      try {
        for (const more of [[], ["--batch-size=1"], ["--static"]]) {
          const words = ["-t", "30", "--out=json", ...more, "-L", "victim,liar", "test.ping"];
          const { stdout, stderr } = await runCli(["salt", "-c", master.configDirectory, ...words], commandTimeoutMs);
          assert.doesNotMatch(stdout + stderr, new RegExp(`${forgedText}|ghost`), words.join(" "));
          assert.match(stdout, new RegExp(`"victim": "${genuineText}"`), words.join(" "));
        }
        await forger.settled();
        assert.deepEqual(forger.faults, []);
        const log = readFileSync(join(master.directory, "output"), "utf8");
        assert.equal(/minion_event_tags: salt lets a minion fire/.test(log), rules === "salt");
        assert.match(log, /Filtering blacklisted event tag/);
      } finally {
        forger.close();
        await master.remove();
      }
    });
  }
});
