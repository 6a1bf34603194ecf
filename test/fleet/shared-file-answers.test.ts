/** A worker gives an answer about a file to other minions, but never one from before a publish or the beginning of a minion's run of states. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { loadPrimes, minionKey } from "../../bench/fleet/keys.ts";
import { fileAnswerFreshMs } from "../../src/limits.ts";
import type { ValueMap } from "../../src/wire/values.ts";
import { startOurMaster } from "./our-master.ts";
import { ProbeMinion } from "./probe-minion.ts";

describe("answers about files that minions share", { timeout: 120_000 }, () => {
  let root: string;
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let minions: ProbeMinion[];
  let writes = 0;
  /** Longer each time, so that its size tells that it was changed. */
  const change = () => {
    writes += 1;
    writeFileSync(join(root, "a.conf"), "x".repeat(writes));
  };
  const ask = (minion: ProbeMinion, load: Record<string, string | number>) => minion.ask(minion.seal(load));

  before(async () => {
    root = mkdtempSync(join(tmpdir(), "sw-shared-files-"));
    change();
    const ids = ["web1", "web2", "web3", "web4"];
    const roots = { file_roots: { base: [root] }, pillar_roots: { base: [] } };
    master = await startOurMaster(ids.length, { open_mode: true, ...roots });
    const primes = await loadPrimes(join(tmpdir(), "sw-test-keys"), ids.length * 2);
    minions = await Promise.all(
      ids.map((id, index) => ProbeMinion.open(id, minionKey(primes, index), master.requestPort)),
    );
  });
  after(() => minions.map((minion) => minion.close()));
  after(() => master.remove());
  after(() => rmSync(root, { recursive: true, force: true }));

  async function sizesSeen(): Promise<number[]> {
    const answers = await Promise.all(
      minions.map((minion) => ask(minion, { cmd: "_serve_file", path: "a.conf", saltenv: "base", loc: 0 })),
    );
    return answers.map((answer) => ((answer as ValueMap).get("data") as Uint8Array).length);
  }
  const present = () => minions.map(() => writes);
  /** Each minion asks, the file changes, and the time is over in which every minion gets the same answer. */
  async function changeAfterAnswers(): Promise<void> {
    await sizesSeen();
    change();
    await wait(fileAnswerFreshMs);
  }

  it("are not from before a publish", async () => {
    await changeAfterAnswers();
    await master.client().publish("*", "cp.cache_file", ["salt://a.conf"], "glob");
    assert.deepEqual(await sizesSeen(), present());
  });

  it("are not from before the beginning of the minion's run of states", async () => {
    for (const begin of ["_master_opts", "_pillar"]) {
      await changeAfterAnswers();
      await Promise.all(
        minions.map((minion) =>
          begin === "_pillar" ? minion.pillar({ id: minion.id }, master.requestPort) : ask(minion, { cmd: begin }),
        ),
      );
      assert.deepEqual(await sizesSeen(), present(), begin);
    }
  });
});
