import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { dispatch } from "../../src/cli/dispatch.ts";
import type { Encodable } from "../../src/wire/values.ts";
import { FakeMaster } from "../client/fake-master.ts";
import { keys, noTerminal, onTerminal } from "./terminal/on-terminal.ts";
import { TestHost } from "./test-host.ts";

/** The answer of a master with one worker after this number of returns. */
function rowsAfter(returns: number): Encodable {
  const histogram = (name: string, labels: { readonly [label: string]: string }, count: number, sum: number) => [
    [`${name}_bucket`, { ...labels, le: "0.001" }, count],
    [`${name}_bucket`, { ...labels, le: "+Inf" }, count],
    [`${name}_sum`, labels, sum],
    [`${name}_count`, labels, count],
  ];
  return [
    ["process_start_time_seconds", {}, 1],
    ["saltworks_minions", { state: "connected" }, 790],
    ["saltworks_minions", { state: "accepted" }, 800],
    ["saltworks_frames_received_total", {}, returns],
    ["saltworks_returns_total", { worker: "0", outcome: "stored" }, returns],
    ["saltworks_requests_total", { worker: "0", command: "_return", outcome: "answered" }, returns],
    ["saltworks_worker_stale", { worker: "0" }, 0],
    ...histogram("saltworks_batch_items", { worker: "0" }, returns / 10, returns),
    ...histogram("saltworks_stage_seconds", { worker: "0", stage: "open" }, returns / 10, returns * 0.000_005),
    ["saltworks_limit_used", { limit: "auth_queue_max" }, 950],
    ["saltworks_limit_max", { limit: "auth_queue_max" }, 1_000],
  ];
}

/** What a member adds: one server leads, one is silent, one has turned its store off. */
const clusterRows: readonly Encodable[] = [
  ["saltworks_cluster_member", { cluster: "prod", member: "m2" }, 1],
  ["saltworks_cluster_quorum", {}, 0],
  ...serverRows("m1", [1, 1, 1], 0),
  ...serverRows("m2", [1, 0, 0], 1_200),
  ...serverRows("m3", [0, 0, 0], undefined),
  ["saltworks_cluster_returns_lag", { stream: "RETURNS_0" }, 3],
  ["saltworks_cluster_returns_lag", { stream: "RETURNS_1" }, 2_500],
  ["saltworks_cluster_jobs_behind", {}, 4],
  ...ownerRows("m1", 1, [3, 1_200]),
  ...ownerRows("m2", 0, [0, 2]),
  ...ownerRows("m3", undefined, [1, 0]),
];

function serverRows(server: string, states: readonly number[], behind: number | undefined): Encodable[] {
  const names = ["answering", "storing", "leading"];
  return [
    ...names.map((what, at) => ["saltworks_cluster_server", { server, what }, states[at] ?? 0]),
    ...(behind === undefined ? [] : [["saltworks_cluster_server_behind", { server }, behind]]),
  ];
}

function ownerRows(
  member: string,
  lease: number | undefined,
  [batch = 0, waiting = 0]: readonly number[],
): Encodable[] {
  return [
    ...(lease === undefined ? [] : [["saltworks_cluster_member_lease", { member }, lease]]),
    ["saltworks_cluster_member_jobs", { member, kind: "batch" }, batch],
    ["saltworks_cluster_member_jobs", { member, kind: "waiting" }, waiting],
  ];
}

describe("saltworks top", () => {
  let master: FakeMaster;
  let returns: number;
  let isAnswering: boolean;
  let more: readonly Encodable[];
  const start = (host: TestHost, ...argv: string[]) => dispatch(["top", "-c", master.folder, ...argv], host);

  beforeEach(async () => {
    returns = 0;
    isAnswering = true;
    more = [];
    master = await FakeMaster.start({
      wheel: (load) => {
        if (!isAnswering) return undefined;
        assert.equal(load.get("fun"), "saltworks.metrics");
        returns += 1_000;
        return {
          tag: "t",
          data: { jid: "1", return: [...(rowsAfter(returns) as Encodable[]), ...more], success: true },
        };
      },
    });
  });
  afterEach(() => master.stop());

  for (const [name, key] of [
    ["q", "q"],
    ["Ctrl-C", keys.interrupt],
  ] as const) {
    it(`ends at once on ${name} between two looks that are far apart`, { skip: noTerminal }, async () => {
      const words = ["top", "-c", master.folder, "-n", "3600"];
      const { isTyped, isOver, exitCode, shown } = await onTerminal(words, [["looking", key]], { HOME: master.folder });
      assert.ok(isTyped && isOver, shown);
      assert.equal(exitCode, 0);
    });
  }

  it("prints one plain view if the output is not a terminal", async () => {
    const host = new TestHost();
    assert.equal(await start(host), 0);
    assert.match(host.out, /^Minions {3}790 of 800 connected /m);
    assert.match(host.out, /^µs\/request +0 +5 /m);
    assert.match(host.out, /^LIMITS {4}auth_queue_max 95%$/m);
    assert.equal(stripVTControlCharacters(host.out), host.out);
    assert.equal(host.screen, undefined);
  });

  it("prints the same as JSON", async () => {
    const host = new TestHost();
    assert.equal(await start(host, "--json"), 0);
    const view = JSON.parse(host.out);
    assert.deepEqual(view.minions, { connected: 790, accepted: 800 });
    assert.ok(view.returnsPerSecond > 100 && view.returnsPerSecond <= 1_000, `${view.returnsPerSecond}`);
    assert.equal(view.requestsPerBatch, 10);
    assert.equal(view.commands[0].command, "_return");
  });

  it("shows a member's cluster on a terminal: majority, lag, each server, and the owners of jobs", {
    skip: noTerminal,
  }, async () => {
    more = clusterRows;
    const words = ["top", "-c", master.folder];
    const { isOver, exitCode, shown } = await onTerminal(words, [["SERVER", "q"]], { HOME: master.folder });
    assert.ok(isOver, shown);
    assert.equal(exitCode, 0);
    const plain = stripVTControlCharacters(shown);
    assert.match(plain, /Cluster {3}prod, this is m2 {2}has no majority: changes are refused/);
    assert.match(plain, /Lag {7}returns up to 2,500 messages a stream \(RETURNS_1\), jobs 4\b/);
    assert.match(plain, /m1 +up +leads +0\b/);
    assert.match(plain, /m2\* +store off +follows +1,200\b/);
    assert.match(plain, /m3 +silent +follows +-/);
    assert.match(plain, /m1 +holds +3 +1,200\b/);
    assert.match(plain, /m2\* +none +0 +2\b/);
    assert.match(plain, /m3 +- +1 +0\b/);
  });

  it("says on a member that streams take no records although the servers have a majority", async () => {
    const lines = async (quorum: number, streams: number) => {
      const without = clusterRows.filter((row) => (row as readonly unknown[])[0] !== "saltworks_cluster_quorum");
      more = [
        ...without,
        ["saltworks_cluster_quorum", {}, quorum],
        ["saltworks_cluster_streams_without_leader", {}, streams],
      ];
      const host = new TestHost();
      assert.equal(await start(host), 0);
      return host.out;
    };
    assert.match(await lines(1, 0), /^Cluster {3}prod, this is m2 {2}has its majority$/m);
    assert.match(await lines(1, 1), /^Cluster .*m2 {2}1 stream takes no records, see `saltworks cluster status`$/m);
    assert.match(await lines(1, 2), /^Cluster .*m2 {2}2 streams take no records, see `saltworks cluster status`$/m);
    assert.match(await lines(0, 9), /^Cluster .*m2 {2}has no majority: changes are refused$/m);
  });

  it("gives a member's cluster as JSON, and nothing of one for another master", async () => {
    const alone = new TestHost();
    assert.equal(await start(alone, "--json"), 0);
    assert.equal(JSON.parse(alone.out).cluster, undefined);
    more = clusterRows;
    const host = new TestHost();
    assert.equal(await start(host, "--json"), 0);
    const { cluster } = JSON.parse(host.out);
    assert.deepEqual([cluster.cluster, cluster.member, cluster.hasQuorum, cluster.jobsLag], ["prod", "m2", false, 4]);
    assert.deepEqual(cluster.owners[2], { member: "m3", holdsLease: null, batchJobs: 1, waitingJobs: 0 });
    assert.deepEqual(
      cluster.servers.map(({ server, isAnswering, behind }: { [name: string]: unknown }) => [
        server,
        isAnswering,
        behind,
      ]),
      [
        ["m1", true, 0],
        ["m2", true, 1_200],
        ["m3", false, null],
      ],
    );
    const plain = new TestHost();
    assert.equal(await start(plain), 0);
    assert.match(plain.out, /^Cluster {3}prod/m);
    more = [];
    const single = new TestHost();
    assert.equal(await start(single), 0);
    assert.doesNotMatch(single.out, /Cluster|SERVER/);
  });

  it("refreshes a terminal until q, fits it when its size changes, and gives it back", async () => {
    const host = new TestHost();
    host.isTerminal = true;
    const ended = start(host);
    await host.untilScreen();
    await host.screen?.shows(/790 of 800 connected/);
    const drawn = host.screen?.lines.join("\n") ?? "";
    assert.notEqual(stripVTControlCharacters(drawn), drawn);
    host.screen?.resize(20);
    assert.ok(host.screen?.lines.every((line) => stripVTControlCharacters(line).length <= 20));
    host.screen?.press("x");
    assert.equal(host.screen?.isClosed, false);
    host.screen?.press("q");
    assert.equal(await ended, 0);
    assert.equal(host.screen?.isClosed, true);
    assert.equal(host.out, "");
  });

  it("shows no colours where NO_COLOR is set", async () => {
    const host = new TestHost();
    host.isTerminal = true;
    host.environment = { NO_COLOR: "1" };
    const ended = start(host);
    await host.untilScreen();
    await host.screen?.shows(/790 of 800 connected/);
    const drawn = host.screen?.lines.join("\n") ?? "";
    assert.equal(stripVTControlCharacters(drawn), drawn);
    host.interrupt();
    assert.equal(await ended, 0);
  });

  it("says how long a master has been silent and keeps what it knew", async () => {
    const host = new TestHost();
    host.isTerminal = true;
    const ended = start(host);
    await host.untilScreen();
    await host.screen?.shows(/790 of 800 connected/);
    isAnswering = false;
    await host.screen?.shows(/no answer for \d+ s[\s\S]*790 of 800 connected/);
    host.screen?.press("\x03");
    assert.equal(await ended, 0);
    assert.equal(host.screen?.isClosed, true);
  });

  it("ends with the usual error without a master", async () => {
    await master.closeBus();
    const host = new TestHost();
    assert.equal(await start(host), 1);
    assert.match(host.err, /^saltworks top: MASTER_UNREACHABLE: The salt master could not be contacted\./);
  });

  it("refuses to look all the time, or hardly ever", async () => {
    for (const seconds of ["0", "-1", "99999999"]) {
      const host = new TestHost();
      assert.equal(await start(host, "-n", seconds), 64);
      assert.equal(
        host.err,
        `saltworks top: error: --interval takes a number of seconds from 1 to 3,600, not ${seconds}\n`,
      );
    }
  });

  it("says so when the master is of another release", async () => {
    await master.stop();
    master = await FakeMaster.start({
      wheel: () => ({ tag: "t", data: { jid: "1", return: "what?", success: true } }),
    });
    const host = new TestHost();
    assert.equal(await start(host), 1);
    assert.match(host.err, /REQUEST_REFUSED: the master's metrics have an unknown form/);
  });
});
