/** Kept pillars in memory: the questions that they answer, their lifetime, and the bound of their memory. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pillarCacheEnvironmentsMax, pillarCacheMemoryBytesMax } from "../../../src/limits.ts";
import { KeptPillars, type KeptPillarsOptions, nothingOf } from "../../../src/master/pillars/kept.ts";
import type { PillarResult, PillarTask } from "../../../src/workers/messages/pillar.ts";

function open(more: Partial<KeptPillarsOptions> = {}) {
  const clock = { nowMs: 0 };
  const run = async (task: PillarTask): Promise<PillarResult> => {
    const record = task.kept ?? new Uint8Array();
    return { pillar: record, record, faults: [], sources: [] };
  };
  const kept = new KeptPillars({
    isOn: true,
    backend: "memory",
    ttlMs: 1_000,
    followsSaltenv: false,
    run: run as unknown as KeptPillarsOptions["run"],
    nowMs: () => clock.nowMs,
    ...more,
  });
  const keep = (id: string, keepable: Uint8Array | undefined, pillarenv?: string, mark = kept.mark(id)) =>
    kept.note(
      { ...nothingOf(id), pillarenv },
      { pillar: new Uint8Array(), record: new Uint8Array(), faults: [], sources: [], keepable },
      mark,
    );
  const find = async (id: string, pillarenv?: string) => (await kept.find({ ...nothingOf(id), pillarenv }))?.record;
  return { kept, clock, keep, find };
}

describe("pillars kept in memory", () => {
  it("answer for their minion and environment until they are too old", async () => {
    const { keep, find, clock, kept } = open();
    keep("web1", Uint8Array.of(1));
    keep("web1", Uint8Array.of(2), "dev");
    assert.deepEqual([await find("web1"), await find("web1", "dev")], [Uint8Array.of(1), Uint8Array.of(2)]);
    assert.deepEqual([await find("web2"), await find("web1", "prod")], [undefined, undefined]);
    clock.nowMs = 1_001;
    assert.equal(await find("web1"), undefined);
    assert.deepEqual(kept.counters, { hits: 2, misses: 3, forgotten: 0, unkept: 0 });
    // By a wall clock that was set back it would still be kept.
    clock.nowMs = -1;
    assert.equal(await find("web1"), undefined);
  });

  it("go when they are forgotten, and pillars with errors never come", async () => {
    const { keep, find, kept } = open();
    keep("web1", Uint8Array.of(1));
    keep("web1", Uint8Array.of(2), "dev");
    keep("web2", undefined);
    await kept.forget("web1");
    assert.deepEqual(
      [await find("web1"), await find("web1", "dev"), await find("web2")],
      [undefined, undefined, undefined],
    );
    assert.equal(kept.memoryBytes, 0);
  });

  it("are not kept by a rendering that began before they were forgotten", async () => {
    const { keep, find, kept } = open();
    const mark = kept.mark("web1");
    await kept.forget("web1");
    keep("web1", Uint8Array.of(1), undefined, mark);
    assert.equal(await find("web1"), undefined);
  });

  it("are bounded in environments of a minion and in bytes", async () => {
    const { keep, find, kept } = open();
    for (let index = 0; index <= pillarCacheEnvironmentsMax; index += 1) keep("web1", Uint8Array.of(1), `env${index}`);
    assert.equal(await find("web1", "env0"), undefined);
    assert.equal(kept.memoryBytes, pillarCacheEnvironmentsMax);
    const half = new Uint8Array(pillarCacheMemoryBytesMax / 2);
    for (const id of ["a", "b", "c"]) keep(id, half);
    assert.equal(kept.memoryBytes, 2 * half.byteLength);
    assert.deepEqual([await find("web1", "env3"), await find("a")], [undefined, undefined]);
    assert.equal(await find("c"), half);
    keep("c", half);
    assert.equal(kept.memoryBytes, 2 * half.byteLength);
  });

  it("serve no question for what a minion asks for itself, and name the environment as pillars do", () => {
    const { kept } = open({ followsSaltenv: true });
    assert.equal(kept.serves({ ...nothingOf("a"), onDemand: Uint8Array.of(0x81) }), false);
    assert.equal(kept.serves({ ...nothingOf("a"), isTopOnly: true }), false);
    assert.equal(kept.serves(nothingOf("a")), true);
    assert.equal(kept.named({ ...nothingOf("a"), saltenv: "dev" }).pillarenv, "dev");
    assert.equal(kept.named({ ...nothingOf("a"), saltenv: "dev", pillarenv: "qa" }).pillarenv, "qa");
    assert.equal(open({ isOn: false }).kept.serves(nothingOf("a")), false);
  });
});
