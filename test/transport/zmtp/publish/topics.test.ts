/** Topics compared with a slow, simple way: a look at each subscriber's own list. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Topic, Topics } from "../../../../src/transport/zmtp/publish/topics.ts";

type Member = { readonly name: string; lastMatch: number };
const member = (name: string): Member => ({ name, lastMatch: 0 });

function matched(topics: Topics<Member>, first: string): string[] {
  const names: string[] = [];
  topics.match(Buffer.from(first, "latin1"), ({ name }) => names.push(name));
  return names.sort();
}

describe("Topics", () => {
  it("finds each member once whose topic is a prefix of the first part", () => {
    const topics = new Topics<Member>();
    const [all, both, cast, other] = ["all", "both", "cast", "other"].map(member) as [Member, Member, Member, Member];
    topics.add(all, "");
    topics.add(both, "");
    topics.add(both, "broadcast");
    topics.add(cast, "broadcast");
    topics.add(other, "broadcasting");
    assert.deepEqual(matched(topics, "broadcast"), ["all", "both", "cast"]);
    assert.deepEqual(matched(topics, "broad"), ["all", "both"]);
    assert.deepEqual(matched(topics, ""), ["all", "both"]);
    assert.deepEqual(matched(topics, "broadcasting on"), ["all", "both", "cast", "other"]);
  });

  it("agrees with a look at each list while members come and go at random", () => {
    const topics = new Topics<Member>();
    const members = Array.from({ length: 20 }, (_, at) => member(`m${at}`));
    const lists = new Map(members.map((some) => [some, new Map<string, Topic<Member>>()]));
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 0x7fff_ffff;
      return seed % below;
    };
    const text = () => Array.from({ length: random(4) }, () => "ab\xff"[random(3)]).join("");
    for (let step = 0; step < 3_000; step += 1) {
      const some = members[random(20)] as Member;
      const own = lists.get(some) as Map<string, Topic<Member>>;
      const topic = text();
      const known = own.get(topic);
      if (known === undefined) own.set(topic, topics.add(some, topic));
      else {
        topics.remove(some, known);
        own.delete(topic);
      }
      const first = text();
      const expected = members.filter((one) =>
        [...(lists.get(one)?.keys() ?? [])].some((own) => first.startsWith(own)),
      );
      assert.deepEqual(matched(topics, first), expected.map(({ name }) => name).sort());
    }
    for (const [some, own] of lists) for (const topic of own.values()) topics.remove(some, topic);
    assert.equal(topics.count, 0);
  });
});
