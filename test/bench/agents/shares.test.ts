/** A fleet that is spread over hosts stays one fleet, and the figures of each host keep its name. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StormHost } from "../../../bench/fleet/storm/host.ts";
import { withAgents } from "../../../bench/fleet/storm/outcome.ts";
import { splitFleet } from "../../../bench/fleet/storm/shares.ts";
import { judgeGenerator } from "../../../bench/load/self-check.ts";

function hostOf(name: string, cores: number, descriptorsMax = 100_000): StormHost {
  return {
    facts: { host: name, address: `${name}:4530`, cpu: "x", node: "v20" },
    cores,
    descriptorsMax,
    clock: { offsetMs: 7, uncertaintyMs: 2, roundTripMs: 2 },
    measureClock: () => Promise.resolve(),
    start: () => assert.fail("nothing starts"),
  };
}

const size = { minionCount: 1_000, connections: 1_000, subscriptions: 1_000 };

describe("splitFleet", () => {
  it("gives each host minions by its cores, without gaps, and a connection each", () => {
    const parts = splitFleet(size, [hostOf("a", 2), hostOf("b", 6), hostOf("c", 2)]);
    assert.deepEqual(
      parts.map(({ first, count, connections, subscriptions }) => [first, count, connections, subscriptions]),
      [
        [0, 200, 200, 200],
        [200, 600, 600, 600],
        [800, 200, 200, 200],
      ],
    );
  });

  it("starts as many processes as each host's descriptors need", () => {
    const parts = splitFleet(size, [hostOf("a", 1), hostOf("b", 1, 728)]);
    assert.deepEqual(
      parts.map(({ host, count }) => [host.facts?.host, count]),
      [
        ["a", 500],
        ["b", 166],
        ["b", 167],
        ["b", 167],
      ],
    );
  });

  it("leaves hosts out that have no minion, and starts none without one", () => {
    const small = { minionCount: 2, connections: 2, subscriptions: 2, processCount: 8 };
    const hosts = [hostOf("a", 1), hostOf("b", 1), hostOf("c", 1)];
    const parts = splitFleet(small, hosts);
    assert.deepEqual(
      parts.map(({ count }) => count),
      [1, 1],
    );
  });
});

describe("reports of several hosts", () => {
  const calm = { cpuMs: 100, cpuShare: 0.3, loopDelayP99Ms: 2 };
  const of = (name: string) => ({ host: { name: `${name} (${name}:4530)`, cores: 2 } });

  it("name the host that was the limit", () => {
    const reports = [
      { ...calm, ...of("a") },
      { ...calm, cpuShare: 0.97, ...of("b") },
      { ...calm, loopDelayP99Ms: 60, ...of("c") },
    ];
    const { voidReasons } = judgeGenerator({ reports, loop: "open", sent: 1, late: 0 });
    assert.deepEqual(voidReasons, [
      "the generator on b (b:4530) used 97 % of a core, more than 90 %",
      "the event loop of the generator on c (c:4530) was 60.0 ms late at p99, more than 25 ms",
    ]);
  });

  it("are void if all processes of a host together leave it no core", () => {
    const busy = { ...calm, cpuShare: 0.65, ...of("a") };
    const { voidReasons } = judgeGenerator({ reports: [busy, busy, busy], loop: "closed", sent: 1, late: 0 });
    assert.deepEqual(voidReasons, ["the generator on a (a:4530) used 97.5 % of all cores, more than 90 %"]);
  });

  it("have the share of each host, its minions and its clock", () => {
    const hosts = [hostOf("a", 2), hostOf("b", 2)];
    const selves = [
      { ...calm, ...of("a") },
      { ...calm, cpuShare: 0.5, ...of("b") },
    ];
    const generator = judgeGenerator({ reports: selves, loop: "closed", sent: 1, late: 0 });
    const { agents } = withAgents({ generator, selves }, splitFleet(size, hosts)).generator;
    const same = { cores: 2, cpu: "x", node: "v20", clockOffsetMs: 7, clockUncertaintyMs: 2, minions: 500 };
    assert.deepEqual(agents, [
      { host: "a", address: "a:4530", ...same, cpuShare: 0.15 },
      { host: "b", address: "b:4530", ...same, cpuShare: 0.25 },
    ]);
  });
});
