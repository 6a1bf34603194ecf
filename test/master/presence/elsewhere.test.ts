/** Presence of a member of a cluster: its own minions, and the minions that it hears of. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { Elsewhere } from "../../../src/cluster/presence/elsewhere.ts";
import type { PingTarget } from "../../../src/master/presence/ping-targets.ts";
import { Presence } from "../../../src/master/presence/presence.ts";
import { PresenceEvents } from "../../../src/master/presence/presence-events.ts";

const open: Presence[] = [];
const timeoutMs = 60_000;

function openMember(accepted: readonly string[]) {
  const clock = { nowMs: 1_000_000 };
  const pinged: string[] = [];
  const elsewhere = new Elsewhere();
  const presence = new Presence({
    ...{ timeoutMs, accepted: new Set(accepted), isListed: true, elsewhere },
    ping: async (targets: readonly PingTarget[]) => {
      pinged.push(...targets.flatMap(({ ids }) => ids));
    },
    onFault: (error) => assert.fail(error),
    now: () => clock.nowMs,
  });
  open.push(presence);
  let seq = 0;
  const hear = (came: readonly string[], gone: readonly string[] = []) => {
    seq += 1;
    elsewhere.others.take({ by: "other", session: "s", seq, kind: "change", came, gone }, clock.nowMs);
  };
  return { presence, elsewhere, pinged, clock, hear };
}

describe("Presence in a cluster", () => {
  afterEach(() => {
    for (const presence of open.splice(0)) presence.close();
  });

  it("calls a minion connected that is connected to another member, and counts it once", () => {
    const { presence, hear } = openMember(["a", "b", "c"]);
    presence.noteContacts(["a"]);
    hear(["a", "b", "stranger"]);
    assert.deepEqual(presence.connected(), ["a", "b"]);
    assert.deepEqual(
      ["a", "b", "c", "stranger"].map((id) => presence.isConnected(id)),
      [true, true, false, false],
    );
    assert.deepEqual([presence.connectedCount, presence.hereCount], [2, 1]);
  });

  it("calls a minion gone that has left the others, and that this member never had", () => {
    const { presence, hear, clock } = openMember(["a", "b"]);
    hear(["a", "b"]);
    assert.deepEqual([presence.isGone("a"), presence.isGone("b")], [false, false]);
    hear([], ["a"]);
    assert.deepEqual([presence.isGone("a"), presence.isGone("b")], [true, false]);
    clock.nowMs += timeoutMs;
    presence.noteContact("a");
    assert.equal(presence.isGone("a"), false);
  });

  it("does not ping what another member has, and tells of a minion that comes there", () => {
    const { presence, hear, pinged } = openMember(["a", "b"]);
    const arrived: string[] = [];
    presence.onArrivedElsewhere = (id) => arrived.push(id);
    hear(["a"]);
    presence.pingSilent();
    assert.deepEqual(pinged, ["b"]);
    assert.deepEqual(arrived, ["a"]);
  });

  it("tells the others each minion that comes or goes, once", () => {
    const { presence, elsewhere, clock } = openMember(["a", "b"]);
    presence.noteContacts(["a", "b", "a"]);
    assert.deepEqual(elsewhere.digest.changes(), { came: ["a", "b"], gone: [] });
    presence.noteContacts(["a"]);
    assert.deepEqual(elsewhere.digest.changes(), { came: [], gone: [] });
    clock.nowMs += timeoutMs + 1;
    presence.noteContacts(["a"]);
    const gone = Array.from({ length: 5 }, () => elsewhere.digest.changes()).flatMap((change) => change.gone);
    assert.deepEqual(gone, ["b"]);
    assert.deepEqual(elsewhere.digest.told(), ["a"]);
  });

  it("is in Salt's events of presence", () => {
    const { presence, hear } = openMember(["a", "b"]);
    const fired: [string, unknown][] = [];
    const events = new PresenceEvents({
      intervalMs: timeoutMs,
      connected: () => presence.connected(),
      fire: (tag, data) => fired.push([tag, data]),
    });
    try {
      presence.noteContact("a");
      hear(["b"]);
      events.tell();
      hear([], ["b"]);
      events.tell();
    } finally {
      events.close();
    }
    assert.deepEqual(fired, [
      ["salt/presence/change", { new: ["a", "b"], lost: [] }],
      ["salt/presence/present", { present: ["a", "b"] }],
      ["salt/presence/change", { new: [], lost: ["b"] }],
      ["salt/presence/present", { present: ["a"] }],
    ]);
  });
});
