import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PresenceEvents } from "../../../src/master/presence/presence-events.ts";

describe("PresenceEvents", () => {
  it("name the minions that have come and gone, if any have, and then all that are connected", () => {
    let present = ["a", "b"];
    const fired: [string, unknown][] = [];
    const events = new PresenceEvents({
      intervalMs: 1_000_000,
      connected: () => present,
      fire: (tag, data) => fired.push([tag, data]),
    });
    events.tell();
    events.tell();
    present = ["b", "c"];
    events.tell();
    events.close();
    assert.deepEqual(fired, [
      ["salt/presence/change", { new: ["a", "b"], lost: [] }],
      ["salt/presence/present", { present: ["a", "b"] }],
      ["salt/presence/present", { present: ["a", "b"] }],
      ["salt/presence/change", { new: ["c"], lost: ["a"] }],
      ["salt/presence/present", { present: ["b", "c"] }],
    ]);
  });
});
