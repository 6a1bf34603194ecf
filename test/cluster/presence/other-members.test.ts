import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodePresence, encodePresence, type PresenceMessage } from "../../../src/cluster/presence/message.ts";
import { OtherMembers } from "../../../src/cluster/presence/other-members.ts";
import {
  presenceIdsOfMemberMax,
  presenceIdsOfMessageMax,
  presenceMembersMax,
  presenceSilentMs,
} from "../../../src/limits.ts";

const from = (by: string, seq: number, session = "s1") => ({ by, session, seq });
const change = (by: string, seq: number, came: readonly string[], gone: readonly string[] = []): PresenceMessage => ({
  ...from(by, seq),
  kind: "change",
  came,
  gone,
});
const list = (by: string, seq: number, ids: readonly string[], session = "s1"): PresenceMessage => ({
  ...from(by, seq, session),
  ...{ kind: "list", isFirst: true, isLast: true, ids },
});

describe("OtherMembers", () => {
  it("count a silent member as gone after the bound, and its minions as left", () => {
    const others = new OtherMembers();
    const left: string[] = [];
    others.onLeft = (id) => left.push(id);
    others.take(change("a", 1, ["web1", "web2"]), 0);
    others.take(change("b", 1, ["web2"]), presenceSilentMs);
    assert.deepEqual(others.expire(presenceSilentMs), []);
    assert.deepEqual(others.expire(presenceSilentMs + 1), ["a"]);
    assert.deepEqual(left, ["web1"]);
    assert.equal(others.counters.gone, 1);
    assert.ok(others.has("web2"));
  });

  it("ask for a whole list after a gap, and take it in place of what they had", () => {
    const others = new OtherMembers();
    others.take(list("a", 1, ["web1"]), 0);
    assert.equal(others.lacksList, false);
    others.take(change("a", 3, ["web3"]), 0);
    assert.equal(others.lacksList, true);
    assert.equal(others.counters.gaps, 1);
    others.take(list("a", 4, ["web2", "web3"]), 0);
    assert.equal(others.lacksList, false);
    assert.deepEqual([...others.ids()], ["web2", "web3"]);
  });

  it("begin anew with a member that has started again", () => {
    const others = new OtherMembers();
    others.take(list("a", 1, ["web1"]), 0);
    others.take(list("a", 9, [], "s2"), 0);
    assert.deepEqual([...others.ids()], []);
  });

  it("do not take the rest of a list whose beginning they missed", () => {
    const others = new OtherMembers();
    const part = { kind: "list", isFirst: false, isLast: true, ids: ["web1"] } as const;
    others.take({ ...from("a", 7), ...part }, 0);
    assert.equal(others.has("web1"), false);
    assert.equal(others.lacksList, true);
  });

  it("drop members and minions beyond their bounds, and count them", () => {
    const others = new OtherMembers();
    for (let index = 0; index <= presenceMembersMax; index += 1) others.take(change(`m${index}`, 1, []), 0);
    assert.equal(others.memberCount, presenceMembersMax);
    assert.equal(others.counters.dropped, 1);
    const ids = Array.from({ length: presenceIdsOfMemberMax + 1 }, (_, index) => `id${index}`);
    others.take(list("m0", 2, ids), 0);
    assert.equal(others.counts().get("m0"), presenceIdsOfMemberMax);
    assert.equal(others.counters.dropped, 2);
  });
});

describe("a presence message", () => {
  it("comes back as it was written", () => {
    const messages: PresenceMessage[] = [
      change("a", 1, ["web1"], ["web2"]),
      list("a", 2, ["web1"]),
      { ...from("a", 3), kind: "ask" },
      { ...from("a", 4), kind: "end" },
    ];
    for (const message of messages) assert.deepEqual(decodePresence(encodePresence(message)), message);
  });

  it("is refused if it is damaged, of another version, or too long", () => {
    const whole = encodePresence(change("a", 1, ["web1"]));
    for (let end = 0; end < whole.length; end += 1)
      assert.throws(() => decodePresence(whole.subarray(0, end)), { code: "CLUSTER_REFUSED" });
    const long = Array.from({ length: presenceIdsOfMessageMax + 1 }, () => "id");
    assert.throws(() => decodePresence(encodePresence(change("a", 1, long))), { code: "CLUSTER_REFUSED" });
    assert.throws(() => decodePresence(encodePresence({ ...change("a", 1, []), by: "" })), { code: "CLUSTER_REFUSED" });
  });
});
