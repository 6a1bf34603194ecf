/** Runs that are refused before a fleet or a master is started: with more connections than a master may hold, or more operations than fit. */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, it } from "node:test";
import { demandRoomForMaster } from "../../bench/fleet/descriptors.ts";
import { mixedDay } from "../../bench/scenarios/mixed-day.ts";
import { pingAll } from "../../bench/scenarios/ping-all.ts";
import type { Scenario } from "../../bench/scenarios/scenario.ts";

describe("demandRoomForMaster", () => {
  const limits = { soft: 1_024, hard: 4_096 };

  it("takes what the hard limit holds beside the master's own descriptors, and nothing more", () => {
    demandRoomForMaster(1_792, 3_584, true, limits);
    assert.throws(() => demandRoomForMaster(1_793, 3_586, true, limits), { code: "QUEUE_FULL" });
    demandRoomForMaster(1_793, 3_586, true, { soft: 1_024, hard: Number.MAX_SAFE_INTEGER });
  });

  it("says what would fit, and to share connections where minions can", () => {
    const message =
      "900000 minions with 1800000 connections do not fit: a process may have 4096 descriptors, so a master takes 1792 minions with two connections each";
    assert.throws(() => demandRoomForMaster(900_000, 1_800_000, false, limits), {
      message,
      detail: { minionCount: 900_000, connections: 1_800_000, hard: 4_096 },
    });
    assert.throws(() => demandRoomForMaster(900_000, 1_800_000, true, limits), {
      message: `${message}; let more of them share with connections=1792`,
    });
  });
});

describe("what a scenario demands of the generator", () => {
  /** All minions share one connection, which every machine can open. */
  function demand<P extends { minions: number; connections: number }>(
    scenario: Scenario<P>,
    given: Partial<P>,
    host = "127.0.0.1",
  ): void {
    assert.ok(scenario.demand, "it demands something");
    scenario.demand({ ...scenario.defaults, minions: 1_000, connections: 1, ...given }, host);
  }

  it("of ping-all is a return of each minion: a publish waits for those of the one before", () => {
    demand(pingAll, { publishes: 100_000, warmUp: 100_000 });
  });

  it("is not the room of a master on another host", () => {
    const given = { minions: 10_000_000, connections: 0, publishes: 1, warmUp: 0 };
    assert.throws(() => demand(pingAll, given), { code: "QUEUE_FULL" });
    for (const own of ["localhost", "127.1.2.3", hostname()])
      assert.throws(() => demand(pingAll, given, own), { code: "QUEUE_FULL" }, own);
    demand(pingAll, given, "192.0.2.1");
  });

  it("of mixed-day is the larger of its warm-up and its day", () => {
    demand(mixedDay, { warmUp: 10_000 });
    const refused = { code: "USAGE", message: /operations in one run are too many/ };
    assert.throws(() => demand(mixedDay, { warmUp: 10_001 }), refused);
    assert.throws(() => demand(mixedDay, { seconds: 86_400 }), refused);
  });
});
