import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ClusterReport, sampleCluster } from "../../../src/master/cluster/cluster-metrics.ts";
import { cluster } from "../../../src/master/metrics/own-programs.ts";
import { Samples } from "../../../src/master/metrics/samples.ts";
import { readExposition, sumOfSamples } from "../metrics/exposition.ts";

const report: ClusterReport = {
  ...{ cluster: "prod", member: "a", hasJoined: true, serverRestarts: 2, secretsLost: 1 },
  status: {
    ...{ sees: "servers", hasQuorum: true, leaderless: ["KV_sw_prod_keys", "sw_prod_jobs"], serverCount: 3 },
    servers: [
      { name: "a", isAnswering: true, isStoring: false, isLeader: false, behind: 30 },
      { name: "b", isAnswering: true, isStoring: true, isLeader: true, behind: 0 },
      { name: "c", isAnswering: false, isStoring: true, isLeader: false, behind: undefined },
    ],
  },
  watch: { storesLost: 3, storesMended: 2, quorumsLost: 4, leadersLost: 19, unanswered: 5 },
  aes: { rotations: 6, followed: 7, conflicts: 8 },
  keys: { pending: 9, counters: { sent: 10, applied: 11, conflicts: 12, ignored: 13, putFailures: 14, faults: 15 } },
  tokens: { sent: 16, received: 17, failed: 18 },
};

function familiesOf(one: ClusterReport) {
  const samples = new Samples();
  sampleCluster(samples, one);
  return readExposition(samples.text());
}

describe("the metrics of a member of a cluster", () => {
  it("show the servers, what went wrong, and the keys", () => {
    const families = familiesOf(report);
    assert.deepEqual([...families.keys()].sort(), Object.keys(cluster).sort());
    const sum = (name: string, labels: Readonly<Record<string, string>> = {}) =>
      sumOfSamples(families, `saltworks_cluster_${name}`, labels);
    assert.equal(sum("member", { cluster: "prod", member: "a" }), 1);
    const states = ["known", "answering", "storing"].map((state) => sum("servers", { state }));
    assert.deepEqual(states, [3, 2, 1]);
    const stateOf = (server: string) =>
      ["answering", "storing", "leading"].map((what) => sum("server", { server, what }));
    assert.deepEqual(["a", "b", "c"].map(stateOf), [
      [1, 0, 0],
      [1, 1, 1],
      [0, 0, 0],
    ]);
    assert.equal(sum("server_behind", { server: "a" }), 30);
    assert.deepEqual([sum("quorum"), sum("storing"), sum("server_restarts_total")], [1, 0, 2]);
    assert.equal(sum("streams_without_leader"), 2);
    const faults = ["store_off", "quorum_lost", "leader_lost", "unanswered", "secrets_lost"];
    assert.deepEqual(
      faults.map((fault) => sum("faults_total", { fault })),
      [3, 4, 19, 5, 1],
    );
    assert.deepEqual(
      ["own", "other", "conflict"].map((by) => sum("aes_rotations_total", { by })),
      [6, 7, 8],
    );
    const outcomes = ["sent", "applied", "conflict", "ignored", "put_failed", "fault"];
    assert.deepEqual(
      outcomes.map((outcome) => sum("keys_total", { outcome })),
      [10, 11, 12, 13, 14, 15],
    );
    assert.equal(sum("keys_pending"), 9);
    const tokens = ["sent", "received", "failed"].map((outcome) => sum("tokens_total", { outcome }));
    assert.deepEqual(tokens, [16, 17, 18]);
  });

  it("are there, and 0, while the member waits for the cluster", () => {
    const waiting = { ...report, hasJoined: false, status: undefined, aes: undefined, keys: undefined };
    const families = familiesOf(waiting);
    // No server is known by name.
    const ofServers = ["saltworks_cluster_server", "saltworks_cluster_server_behind"];
    const expected = Object.keys(cluster).filter((name) => !ofServers.includes(name));
    assert.deepEqual([...families.keys()].filter((name) => !ofServers.includes(name)).sort(), expected.sort());
    for (const name of [
      "member",
      "servers",
      "quorum",
      "streams_without_leader",
      "storing",
      "keys_pending",
      "keys_total",
    ])
      assert.equal(sumOfSamples(families, `saltworks_cluster_${name}`, {}), 0, name);
  });
});
