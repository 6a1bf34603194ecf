/** The address with the most connections is known after every connection that opens or closes. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { seededRandom } from "../../../bench/load/random.ts";
import { type AddressMember, Crowding } from "../../../src/transport/zmtp/crowding.ts";

class Member implements AddressMember<Member> {
  addressKey = "";
  older: Member | undefined;
  newer: Member | undefined;
}

it("gives the newest connection of an address that has most", () => {
  const random = seededRandom(7);
  const crowding = new Crowding<Member>();
  const places = new Map<string, Member[]>();
  for (let step = 0; step < 20_000; step += 1) {
    const key = `10.0.0.${Math.floor(random() * 12)}`;
    const own = places.get(key) ?? [];
    places.set(key, own);
    if (own.length > 0 && random() < 0.48) {
      const [gone] = own.splice(Math.floor(random() * own.length), 1);
      if (gone !== undefined) crowding.remove(gone);
    } else {
      const added = new Member();
      own.push(added);
      crowding.add(key, added);
    }
    assert.equal(crowding.countOf(key), own.length);
    const most = Math.max(...[...places.values()].map(({ length }) => length));
    assert.equal(crowding.newestAbove(most), undefined);
    const newest = crowding.newestAbove(most - 1);
    const candidates = [...places.values()].filter(({ length }) => length === most && most > 0);
    assert.equal(newest === undefined, candidates.length === 0);
    if (newest !== undefined) assert.ok(candidates.some((list) => list.at(-1) === newest));
  }
});

it("passes over a connection that was never counted", () => {
  const crowding = new Crowding<Member>();
  crowding.remove(new Member());
  assert.equal(crowding.newestAbove(0), undefined);
});
