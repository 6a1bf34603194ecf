/** States from `master_tops: {ext_nodes: COMMAND}` in highstates of a stock minion and of ours, beside a master of Salt 3007 and beside ours. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe } from "node:test";
import { Operator } from "../operator.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const startTimeoutMs = 60_000;

describe("states from master_tops", {
  skip: release === undefined ? releases.skip || "no Salt 3007" : false,
}, () => {
  const bed = new TestBed();
  after(() => bed.close());

  /** The answers to `state.show_top` and `state.apply` by minion. */
  async function answersUnder(maker: Maker): Promise<Record<string, unknown>> {
    const name = maker === "ours" ? "ours" : "salts";
    const folder = join(bed.folder, `tree-${name}`);
    mkdirSync(folder);
    writeFileSync(join(folder, "top.sls"), "base: {'*': [own, both]}\n");
    for (const sls of ["own", "both", "told", "stock", "site"])
      writeFileSync(join(folder, `${sls}.sls`), `${sls} state: {test.nop: []}\n`);
    const nodes = join(folder, "nodes");
    // The command fails for the minion quiet.
    writeFileSync(nodes, `#!/bin/sh\n[ "$2" = "quiet" ] && exit 1\necho "classes: [told, both, $2]"\n`);
    chmodSync(nodes, 0o755);
    const options = { auto_accept: true, file_roots: { base: [folder] }, timeout: 60 };
    const tops = { master_tops: { ext_nodes: `${nodes} --word` } };
    const master = await MasterUnderTest.create(bed, maker, { ...options, ...tops }, name);
    await master.start();
    const operator = new Operator(maker, master);
    const watch = await bed.watchEvents(master.sockDir);
    const answers: Record<string, unknown> = {};
    for (const [id, of, more] of [
      ["stock", release as SaltRelease, {}],
      ["site", "ours", { master_tops_first: true }],
      ["quiet", "ours", {}],
    ] as const) {
      new MinionUnderTest(master, of, id, more, name);
      await watch.until(`start of ${id}`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
      const ran = await operator.job(id, ["state.apply"]);
      const names = Object.values(ran.value as Record<string, { __sls__?: string; __run_num__?: number }>)
        .sort((one, other) => (one.__run_num__ ?? 0) - (other.__run_num__ ?? 0))
        .map(({ __sls__: sls }) => sls);
      answers[id] = { top: (await operator.job(id, ["state.show_top"])).value, ran: names, code: ran.code };
    }
    return answers;
  }

  bed.it("are what the command names, after or before the top file's", async () => {
    const ours = await answersUnder("ours");
    assert.deepEqual(ours, {
      stock: { top: { base: ["own", "both", "told", "stock"] }, ran: ["own", "both", "told", "stock"], code: 0 },
      site: { top: { base: ["told", "both", "site", "own"] }, ran: ["told", "both", "site", "own"], code: 0 },
      quiet: { top: { base: ["own", "both"] }, ran: ["own", "both"], code: 0 },
    });
    assert.deepEqual(await answersUnder(release as SaltRelease), ours);
  });
});
