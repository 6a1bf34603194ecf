/** Each shipped alert fires on the series that it is for, alone, and none fires on those of a master that is well. Prometheus' own tester decides. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { parse } from "yaml";
import { repositoryRoot } from "../../root.ts";
import { skipWithout } from "../../services/service.ts";

const rules = join(repositoryRoot, "packaging/prometheus/saltworks.rules.yml");
const skip = skipWithout("promtool");
/** The alerts are looked at after this time, in minutes; series have a value each minute. */
const lookMinutes = 40;
const of = 'job="saltworks",instance="m1"';

/** A series in the tester's form, such as `0+5x40`: from 0, 5 more each minute. */
type Series = { readonly series: string; readonly values: string };

const steady = (name: string, value: number, labels = ""): Series => ({
  series: `${name}{${of}${labels}}`,
  values: `${value}+0x${lookMinutes}`,
});
const growing = (name: string, step: number, labels = ""): Series => ({
  series: `${name}{${of}${labels}}`,
  values: `0+${step}x${lookMinutes}`,
});
/** One batch a minute that took at most `le` seconds, of a histogram that ends at `le`. */
const waits = (name: string, le: string, labels: string): readonly Series[] => [
  growing(`${name}_bucket`, 0, `,le="0.001"${labels}`),
  growing(`${name}_bucket`, 60, `,le="${le}"${labels}`),
  growing(`${name}_bucket`, 60, `,le="+Inf"${labels}`),
];
const fleet = (connected: number) => [
  steady("saltworks_minions", connected, ',state="connected"'),
  steady("saltworks_minions", 100, ',state="accepted"'),
];

/** What each alert is for. */
const cases: Readonly<Record<string, readonly Series[]>> = {
  SaltworksDown: [steady("up", 0)],
  SaltworksRestarts: [growing("process_start_time_seconds", 60), ...fleet(100)],
  SaltworksMinionsGone: fleet(80),
  SaltworksReturnsLate: waits("saltworks_queue_wait_seconds", "2.5", ',worker="0",queue="requests"'),
  SaltworksRequestsRejected: [growing("saltworks_requests_rejected_total", 1)],
  SaltworksLimitNear: [
    steady("saltworks_limit_used", 95, ',limit="peerRequestsMax"'),
    steady("saltworks_limit_max", 100, ',limit="peerRequestsMax"'),
  ],
  SaltworksLimitMet: [growing("saltworks_limit_hits_total", 1, ',limit="tokensMax"')],
  SaltworksDiskFaults: [growing("saltworks_disk_faults_total", 1, ',thread="sw-worker-0",kind="full"')],
  SaltworksCommitsFail: [growing("saltworks_commits_total", 1, ',worker="0",outcome="failed"')],
  SaltworksWorkerLost: [growing("saltworks_workers_lost_total", 1)],
  SaltworksWorkerSilent: [steady("saltworks_worker_stale", 1, ',worker="0"')],
  SaltworksPublishThreadLost: [growing("saltworks_publish_threads_lost_total", 1)],
  SaltworksLaneThreadsLost: [growing("saltworks_lane_threads_lost_total", 1, ',lane="pillar"')],
  SaltworksMainThreadBusy: [
    growing("saltworks_event_loop_busy_seconds_total", 57, ',thread="main"'),
    growing("saltworks_event_loop_idle_seconds_total", 3, ',thread="main"'),
  ],
  SaltworksEventLoopLate: waits("saltworks_event_loop_delay_seconds", "1", ',thread="main"'),
  SaltworksHeapNearLimit: [
    steady("saltworks_heap_used_bytes", 95, ',thread="main"'),
    steady("saltworks_heap_limit_bytes", 100, ',thread="main"'),
  ],
  SaltworksAuthenticationsRefused: [growing("saltworks_auths_dropped_total", 1, ',reason="refused"')],
  SaltworksPasswordsGuessed: [growing("saltworks_credential_checks_total", 60, ',backend="pam",outcome="refused"')],
  SaltworksAuditLinesLost: [growing("saltworks_audit_lines_total", 1, ',outcome="lost"')],
  SaltworksPublishesDropped: [growing("saltworks_publish_copies_total", 1, ',outcome="dropped"')],
  SaltworksPillarsFail: [
    growing("saltworks_pillars_total", 90, ',outcome="rendered"'),
    growing("saltworks_pillars_total", 10, ',outcome="failed"'),
  ],
  SaltworksDatabaseDown: [steady("saltworks_database_up", 0)],
  SaltworksDatabaseBehind: [steady("saltworks_database_lag_seconds", 700)],
  SaltworksEventReturnDown: [steady("saltworks_event_return_up", 0, ',returner="mysql"')],
  SaltworksEventsLost: [growing("saltworks_events_dropped_total", 1)],
  SaltworksReactionsLost: [growing("saltworks_reactor_reactions_total", 1, ',kind="local",outcome="failed"')],
  SaltworksApiRestarts: [growing("saltworks_api_restarts_total", 1)],
  SaltworksGitFetchesFail: [growing("saltworks_git_fetches_total", 1, ',outcome="failed"')],
  // Without a majority no stream has a leader.
  SaltworksClusterQuorumLost: [
    steady("saltworks_cluster_quorum", 0),
    steady("saltworks_cluster_streams_without_leader", 9),
  ],
  SaltworksClusterStreamsLeaderless: [
    steady("saltworks_cluster_streams_without_leader", 2),
    steady("saltworks_cluster_quorum", 1),
  ],
  SaltworksClusterNotStoring: [steady("saltworks_cluster_storing", 0)],
  SaltworksClusterNotJoined: [steady("saltworks_cluster_member", 0, ',cluster="prod",member="m1"')],
  SaltworksClusterJobLeaseLost: [steady("saltworks_cluster_job_lease", 0)],
  SaltworksClusterReturnsBehind: [
    growing("saltworks_cluster_returns_lag", 100, ',stream="0"'),
    steady("saltworks_cluster_returns_lag", 0, ',stream="1"'),
  ],
  SaltworksClusterReturnsLost: [growing("saltworks_cluster_returns_read_total", 1, ',what="lost"')],
};

/** The same series of a master that is well. */
const well: readonly Series[] = [
  steady("up", 1),
  steady("process_start_time_seconds", 1_000),
  ...fleet(95),
  ...waits("saltworks_queue_wait_seconds", "0.01", ',worker="0",queue="requests"'),
  ...waits("saltworks_event_loop_delay_seconds", "0.01", ',thread="main"'),
  steady("saltworks_requests_rejected_total", 5),
  // Used up once, by the largest request so far: that says nothing of what comes.
  steady("saltworks_limit_used", 100, ',limit="request_max_bytes"'),
  steady("saltworks_limit_max", 100, ',limit="request_max_bytes"'),
  steady("saltworks_limit_hits_total", 5, ',limit="tokensMax"'),
  growing("saltworks_commits_total", 60, ',worker="0",outcome="done"'),
  steady("saltworks_worker_stale", 0, ',worker="0"'),
  growing("saltworks_event_loop_busy_seconds_total", 30, ',thread="main"'),
  growing("saltworks_event_loop_idle_seconds_total", 30, ',thread="main"'),
  growing("saltworks_credential_checks_total", 6, ',backend="pam",outcome="refused"'),
  growing("saltworks_pillars_total", 99, ',outcome="rendered"'),
  growing("saltworks_pillars_total", 1, ',outcome="failed"'),
  steady("saltworks_database_up", 1),
  steady("saltworks_database_lag_seconds", 5),
  steady("saltworks_event_return_up", 1, ',returner="mysql"'),
  steady("saltworks_cluster_quorum", 1),
  steady("saltworks_cluster_streams_without_leader", 0),
  steady("saltworks_cluster_storing", 1),
  steady("saltworks_cluster_member", 1, ',cluster="prod",member="m1"'),
  steady("saltworks_cluster_job_lease", 1),
  // Many, and not more than before.
  steady("saltworks_cluster_returns_lag", 5_000, ',stream="0"'),
  steady("saltworks_cluster_returns_lag", 0, ',stream="1"'),
  growing("saltworks_cluster_returns_read_total", 60, ',what="messages"'),
  steady("saltworks_cluster_returns_read_total", 5, ',what="lost"'),
];

type RuleFile = { readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[] };

describe("alerts for Prometheus", { skip }, () => {
  const directory = mkdtempSync(join(tmpdir(), "sw-alerts-"));
  after(() => rmSync(directory, { recursive: true, force: true }));

  const promtool = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
    return { status, text: stdout + stderr };
  };

  /** Whether exactly these alerts fire on the series. */
  const demandFiring = (name: string, series: readonly Series[], alerts: readonly string[]) => {
    const file = join(directory, `${name}.json`);
    const expected = alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }));
    const firing = {
      expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: `${lookMinutes}m`,
      exp_samples: expected,
    };
    const test = { interval: "1m", input_series: series, promql_expr_test: [firing] };
    writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: "1m", tests: [test] }));
    const { status, text } = promtool("test", "rules", file);
    assert.equal(status, 0, text);
  };

  it("are rules without a fault, and each has a case here", () => {
    const { status, text } = promtool("check", "rules", rules);
    assert.equal(status, 0, text);
    const { groups } = parse(readFileSync(rules, "utf8")) as RuleFile;
    assert.deepEqual(
      groups.flatMap((group) => group.rules.map(({ alert }) => alert)).sort(),
      Object.keys(cases).sort(),
    );
  });

  it("do not fire on a master that is well", () => demandFiring("well", well, []));

  for (const [alert, series] of Object.entries(cases)) {
    it(`fire ${alert} alone on what it is for`, () => demandFiring(alert, series, [alert]));
  }
});
