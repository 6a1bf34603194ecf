/** The shipped dashboard and alerts on a real Prometheus that scrapes a real master: every query finds what it asks for, and no alert fires. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { freePorts } from "../../../bench/free-ports.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { withMasters } from "../../../scripts/grafana.ts";
import { panelRows } from "../../../scripts/grafana-panels.ts";
import { repositoryRoot } from "../../root.ts";
import { type Service, skipWithout, startPrometheus } from "../../services/service.ts";
import { startOurMaster } from "../our-master.ts";

const minionCount = 4;
const timeoutMs = 60_000;
const pollMs = 500;
const rules = join(repositoryRoot, "packaging/prometheus/saltworks.rules.yml");

/** Queries without data on a master that is well and has no database of jobs. */
const silent = new Set(["Limits met", "Behind: database and returners 0"]);

type Answer<Data> = { readonly status: string; readonly error?: string; readonly data: Data };
type Vector = {
  readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
};
type Rules = { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
type Rule = { readonly name: string; readonly health: string; readonly state: string; readonly lastError?: string };

describe("monitoring with Prometheus", { skip: skipWithout("prometheus") }, () => {
  let master: MasterProcess;
  let fleet: Fleet;
  let prometheus: Service;
  const directory = mkdtempSync(join(tmpdir(), "sw-monitoring-"));

  const ask = async <Data>(path: string): Promise<Data> => {
    const answer = (await (await fetch(`http://127.0.0.1:${prometheus.port}/api/v1/${path}`)).json()) as Answer<Data>;
    if (answer.status !== "success") throw new Error(`${decodeURIComponent(path)}: ${answer.error}`);
    return answer.data;
  };
  const query = async (expr: string) => (await ask<Vector>(`query?query=${encodeURIComponent(expr)}`)).result;
  const until = async (what: string, isReached: () => Promise<boolean>) => {
    const giveUpMs = performance.now() + timeoutMs;
    while (!(await isReached())) {
      if (performance.now() > giveUpMs) throw new Error(`Prometheus does not show ${what}`);
      await delay(pollMs);
    }
  };

  before(async () => {
    const [port = 0] = await freePorts(1);
    master = await startOurMaster(minionCount, {
      ...{ auto_accept: true, metrics_port: port, event_return: "rawfile_json" },
      "rawfile_json.filename": join(directory, "events"),
    });
    fleet = await openFleet({ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount });
    await fleet.untilUp(timeoutMs);
    prometheus = await startPrometheus("the-saltworks", [`127.0.0.1:${port}`], [rules]);
    await until("the master", async () => (await query("saltworks_minions")).length > 0);
    const client = master.client();
    await client.publish("*", "test.ping");
    client.close();
  });
  after(async () => {
    await prometheus?.close();
    await fleet?.close();
    await master?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  it("reads the master's OpenMetrics", async () => {
    assert.equal((await query("up"))[0]?.value[1], "1");
    // Only OpenMetrics names a counter's family without `_total`.
    const known = await ask<Record<string, readonly { readonly type: string }[]>>("metadata?metric=saltworks_jobs");
    assert.equal(known.saltworks_jobs?.[0]?.type, "counter");
  });

  it("shows returns as they come", async () => {
    const returns = 'sum(saltworks_returns_total{outcome="stored"})';
    await until("the returns", async () => Number((await query(returns))[0]?.value[1]) === minionCount);
  });

  for (const { title: row, panels } of panelRows) {
    for (const { title, queries } of panels) {
      it(`has data for the panel ${row}: ${title}`, async () => {
        for (const [index, { expr, legend }] of queries.entries()) {
          const text = withMasters(expr, 'job=~".*",instance=~".*"').replaceAll("$__rate_interval", "10s");
          if (silent.has(title) || silent.has(`${title} ${index}`)) {
            assert.deepEqual(await query(text), []);
            continue;
          }
          await until(`data for ${text}`, async () => (await query(text)).length > 0);
          const [first] = await query(text);
          // A legend without its label shows as `{{label}}`.
          for (const [, label = ""] of legend.matchAll(/\{\{(\w+)\}\}/g))
            assert.ok(first?.metric[label], `${text}: ${label}`);
        }
      });
    }
  }

  it("evaluates every rule, and a master that is well fires none", async () => {
    let rulesOf: readonly Rule[] = [];
    await until("evaluated rules", async () => {
      rulesOf = (await ask<Rules>("rules")).groups.flatMap((group) => group.rules);
      return rulesOf.every(({ health }) => health !== "unknown");
    });
    assert.ok(rulesOf.length > 20);
    assert.deepEqual(
      rulesOf
        .filter(({ health, state }) => health !== "ok" || state === "firing")
        .map(({ name, lastError }) => `${name} ${lastError}`),
      [],
    );
  });
});
