import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Bitmap } from "../../../src/target/fleet/bitmap.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import { IdPages } from "../../../src/workers/state/id-pages.ts";
import { KeptLists } from "../../../src/workers/state/kept-lists.ts";
import { randomFrom, seedFromClock } from "../../wire/random.ts";

function setOf(minions: Iterable<number>): Bitmap {
  const set = new Bitmap();
  for (const minion of minions) set.add(minion);
  return set;
}

describe("IdPages", () => {
  it("packs the ids of any set, through numbers that change hands", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const { below } = randomFrom(seed);
    const ids: string[] = [];
    const pages = new IdPages((minion) => ids[minion] ?? "");
    for (let round = 0; round < 300; round += 1) {
      const changed = Array.from({ length: below(40) }, () => below(2_000));
      for (const minion of changed) ids[minion] = `é${"x".repeat(below(250))}-${round}`;
      pages.write(new Set(changed));
      const members = [...ids.keys()].filter((minion) => ids[minion] !== undefined && below(3) > 0);
      const list = TextList.joined([pages.pack(setOf(members))]);
      assert.deepEqual(
        list.texts(),
        members.map((minion) => ids[minion]),
        `seed ${seed}`,
      );
    }
  });
});

describe("KeptLists", () => {
  it("shares one list from its second time on, and packs anew when others match", () => {
    const lists = new KeptLists();
    let packed = 0;
    const pack = () => {
      packed += 1;
      return { count: 1, bytes: Uint8Array.of(0xa1, 0x61) };
    };
    const ask = (minions: number[]) => lists.listOf("glob * ", setOf(minions), pack);
    const all = [ask([1, 2]), ask([1, 2]), ask([1, 2]), ask([1, 2])];
    assert.equal(packed, 2);
    const [first, ...later] = all.map(({ bytes }) => bytes.buffer);
    assert.ok(first instanceof ArrayBuffer, "the caller's own");
    assert.equal(new Set(later).size, 1, "one for all");
    assert.ok(later[0] instanceof SharedArrayBuffer);
    for (const { bytes } of all) assert.deepEqual([...bytes], [0xa1, 0x61]);
    ask([1, 3]);
    assert.equal(packed, 3);
    lists.clear();
    ask([1, 3]);
    assert.equal(packed, 4);
  });
});
