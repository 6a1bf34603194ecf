/** What the streams tell of an operator's servers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StreamInfo } from "@nats-io/jetstream";
import { streamStatusOf } from "../../../src/cluster/operator/status.ts";
import { clusterReplicaSilentMs } from "../../../src/limits.ts";

type Replica = {
  readonly name: string;
  readonly active: number;
  readonly current?: boolean;
  readonly offline?: boolean;
  readonly lag?: number;
};

const leaderSince = "2026-01-01T00:00:00Z";
const told = (name: string, leader: string, replicas: readonly Replica[], leadsMs = clusterReplicaSilentMs) =>
  ({
    ...{ config: { name }, ts: new Date(Date.parse(leaderSince) + leadsMs).toISOString() },
    cluster: { leader, leader_since: leaderSince, replicas: replicas.map((one) => ({ current: true, ...one })) },
  }) as unknown as StreamInfo;
const silent = (clusterReplicaSilentMs + 1) * 1_000_000;
const statusOf = (streams: Parameters<typeof streamStatusOf>[0]) =>
  streamStatusOf(streams, "prod", new Map([["a", "2.15.2"]]));

describe("the state of an operator's servers", () => {
  it("is told of the servers that keep the streams", () => {
    const status = statusOf([
      told("sw_prod_jobs", "b", [
        { name: "a", active: 5 },
        { name: "c", active: 5, lag: 3 },
      ]),
      told("sw_prod_returns_0", "a", [
        { name: "b", active: 5 },
        { name: "d", active: 5 },
      ]),
    ]);
    assert.equal(status.sees, "streams");
    assert.equal(status.hasQuorum, true);
    assert.deepEqual(
      status.servers.map(({ name, version, isLeader, isAnswering, behind }) => [
        name,
        version,
        isLeader,
        isAnswering,
        behind,
      ]),
      [
        ["a", "2.15.2", false, true, 0],
        ["b", undefined, true, true, 0],
        ["c", undefined, false, true, 3],
        ["d", undefined, false, true, 0],
      ],
    );
  });

  it("counts a server that the leader does not hear, or calls offline, as one that keeps no records", () => {
    for (const gone of [{ active: silent }, { active: 5, offline: true }]) {
      const one = statusOf([
        told("sw_prod_jobs", "b", [
          { name: "a", active: 5 },
          { name: "c", ...gone },
        ]),
      ]);
      const { isAnswering, isStoring } = one.servers.find(({ name }) => name === "c") ?? assert.fail();
      assert.deepEqual([one.hasQuorum, isAnswering, isStoring], [true, false, false]);
      const both = statusOf([
        told("sw_prod_jobs", "b", [
          { name: "a", ...gone },
          { name: "c", ...gone },
        ]),
      ]);
      assert.equal(both.hasQuorum, false);
    }
  });

  it("counts a server that the leader has never heard as one that keeps no records, once it has led for long", () => {
    const unheard = { name: "c", active: 0, current: false };
    const takesPart = (leadsMs: number) =>
      statusOf([told("sw_prod_jobs", "b", [{ name: "a", active: 5 }, unheard], leadsMs)]).servers.map(
        ({ isStoring }) => isStoring,
      );
    assert.deepEqual(takesPart(clusterReplicaSilentMs - 1), [true, true, true]);
    assert.deepEqual(takesPart(clusterReplicaSilentMs), [true, true, false]);
  });

  it("has no majority without a leader of each stream, and without streams", () => {
    const jobs = told("sw_prod_jobs", "b", [
      { name: "a", active: 5 },
      { name: "c", active: 5 },
    ]);
    assert.equal(statusOf([jobs, undefined]).hasQuorum, false);
    assert.equal(statusOf([jobs, told("sw_prod_returns_0", "", [])]).hasQuorum, false);
    assert.equal(statusOf([]).hasQuorum, false);
  });
});
