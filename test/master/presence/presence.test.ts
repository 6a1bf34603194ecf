import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { PingTarget } from "../../../src/master/presence/ping-targets.ts";
import { Presence } from "../../../src/master/presence/presence.ts";

const open: Presence[] = [];

function openPresence(accepted: string[]) {
  const clock = { nowMs: 1_000_000 };
  const pinged: (readonly PingTarget[])[] = [];
  const presence = new Presence({
    timeoutMs: 60_000,
    accepted: new Set(accepted),
    isListed: false,
    ping: async (targets) => {
      pinged.push(targets);
    },
    onFault: (error) => assert.fail(error),
    now: () => clock.nowMs,
  });
  open.push(presence);
  return { presence, pinged, clock };
}

function namedBy(target: PingTarget, fleet: readonly string[]): readonly string[] {
  if (target.kind === "list") return target.ids;
  const expression = new RegExp(`^(?:${target.expression})`);
  return fleet.filter((id) => expression.test(id));
}

describe("Presence", () => {
  afterEach(() => {
    for (const presence of open.splice(0)) presence.close();
  });

  it("calls a minion connected within the timeout of its last verified contact", () => {
    const { presence, clock } = openPresence(["a", "b"]);
    presence.noteContacts(["a"]);
    assert.equal(presence.isConnected("a"), true);
    assert.equal(presence.isConnected("b"), false);
    clock.nowMs += 60_001;
    assert.equal(presence.isConnected("a"), false);
    assert.deepEqual(presence.connected(), []);
  });

  it("does not call a minion connected whose key is not accepted", () => {
    const { presence } = openPresence(["a"]);
    presence.noteContacts(["a", "stranger"]);
    assert.deepEqual(presence.connected(), ["a"]);
  });

  it("calls gone only minions that it has met, and only while others are connected", () => {
    const { presence, clock } = openPresence(["a", "b", "never"]);
    presence.noteContacts(["a", "b"]);
    clock.nowMs += 60_001;
    assert.equal(presence.isGone("a"), false);
    presence.noteContacts(["b"]);
    assert.deepEqual(
      ["a", "b", "never"].map((id) => presence.isGone(id)),
      [true, false, false],
    );
  });

  it("pings only minions that have been silent for half the timeout", () => {
    const { presence, pinged, clock } = openPresence(["fresh", "silent"]);
    presence.noteContacts(["fresh", "silent"]);
    clock.nowMs += 31_000;
    presence.noteContacts(["fresh"]);
    presence.pingSilent();
    assert.deepEqual(pinged, [[{ kind: "list", ids: ["silent"] }]]);
  });

  it("tries minions that are long gone only once in a timeout", () => {
    const { presence, pinged } = openPresence(["gone"]);
    for (let round = 0; round < 12; round += 1) presence.pingSilent();
    assert.deepEqual(pinged, [[{ kind: "list", ids: ["gone"] }], [{ kind: "list", ids: ["gone"] }]]);
  });

  it("asks all of a fleet that it has not heard yet within one timeout", () => {
    const fleet = Array.from({ length: 5_000 }, (_, index) => `m${index}`);
    const { presence, pinged } = openPresence(fleet);
    for (let round = 0; round < 6; round += 1) presence.pingSilent();
    assert.equal(new Set(pinged.flat().flatMap((target) => namedBy(target, fleet))).size, 5_000);
  });

  it("keeps a fleet of 100,000 idle minions connected with three publishes of some kilobytes in a round", () => {
    const fleet = Array.from({ length: 100_000 }, (_, index) => `web${index}.dc${index % 7}.example.com`);
    const { presence, pinged, clock } = openPresence(fleet);
    presence.noteContacts(fleet);
    for (let round = 0; round < 18; round += 1) {
      clock.nowMs += 10_000;
      presence.pingSilent();
      const targets = pinged.splice(0).flat();
      const sent = targets.map((target) => (target.kind === "list" ? target.ids : target.expression));
      assert.ok(JSON.stringify(sent).length < 4_096, `${JSON.stringify(sent).length}`);
      assert.ok(targets.length <= 3, `each of ${targets.length} publishes goes to all minions`);
      for (const target of targets) presence.noteContacts(namedBy(target, fleet));
      assert.equal(presence.connected().length, fleet.length, `round ${round}`);
    }
  });

  it("asks whole blocks of a large fleet in which some are silent everywhere, in some kilobytes", () => {
    const fleet = Array.from({ length: 100_000 }, (_, index) => `web${String(index).padStart(6, "0")}.example.com`);
    const { presence, pinged, clock } = openPresence(fleet);
    presence.noteContacts(fleet);
    clock.nowMs += 30_000;
    presence.noteContacts(fleet.filter((_, index) => index % 10 > 0));
    clock.nowMs += 20_000;
    presence.pingSilent();
    const targets = pinged.flat();
    assert.ok(targets.every(({ kind }) => kind === "pcre"));
    assert.ok(targets.length <= 9, `${targets.length}`);
    const sent = targets.map((target) => (target.kind === "list" ? target.ids : target.expression));
    assert.ok(JSON.stringify(sent).length < 8_192, `${JSON.stringify(sent).length}`);
    const asked = new Set(targets.flatMap((target) => namedBy(target, fleet)));
    assert.ok(fleet.every((id, index) => index % 10 > 0 || asked.has(id)));
  });

  it("asks living minions in time although many others fail together", () => {
    const fleet = Array.from({ length: 12_000 }, (_, index) => `m${String(index).padStart(5, "0")}`);
    const { presence, pinged, clock } = openPresence(fleet);
    presence.noteContacts(fleet);
    // The ones that come first in the order of ids.
    const dead = new Set(fleet.slice(0, 5_000));
    const living = fleet.slice(5_000);
    for (let round = 0; round < 12; round += 1) {
      clock.nowMs += 10_000;
      presence.pingSilent();
      for (const target of pinged.splice(0).flat())
        presence.noteContacts(namedBy(target, fleet).filter((id) => !dead.has(id)));
      assert.ok(
        living.every((id) => presence.isConnected(id)),
        `round ${round}`,
      );
    }
  });

  it("forgets a minion whose key was removed while a request of it was under way", () => {
    const { presence } = openPresence(["a"]);
    presence.noteContacts(["stranger"]);
    assert.equal(presence.isGone("stranger"), false);
    presence.noteContacts(["a"]);
    assert.equal(presence.isGone("stranger"), false);
  });

  it("bounds a round", () => {
    const { presence, pinged } = openPresence(Array.from({ length: 5_000 }, (_, index) => `m${index}`));
    presence.pingSilent();
    const named = pinged.flat().map((target) => target.ids.length);
    assert.ok(named.every((count) => count <= 2_000 + Math.ceil(2_000 / 3)));
    // Whole blocks of neighbours are asked.
    const total = named.reduce((sum, count) => sum + count, 0);
    assert.ok(total >= 2_000 && total <= 5_000, String(total));
  });
});
