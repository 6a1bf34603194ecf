/** The shipped dashboard and alerts ask for metrics that exist, by labels that these have. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { withMasters } from "../../../scripts/grafana.ts";
import { panelRows } from "../../../scripts/grafana-panels.ts";
import { type Metric, metrics } from "../../../src/master/metrics/table.ts";
import { repositoryRoot } from "../../root.ts";

const table: Readonly<Record<string, Metric>> = metrics;
/** Labels that Prometheus adds. */
const added = ["job", "instance"];
type RuleFile = { readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[] };

function metricOf(name: string): Metric | undefined {
  return table[name] ?? table[name.replace(/_(?:bucket|sum|count)$/, "")];
}

/** Names in a query that no metric has, and labels of its selectors that its metric does not have. */
function unknownIn(expr: string): string[] {
  const wrong: string[] = [];
  for (const [, name = "", selector = ""] of expr.matchAll(/\b((?:saltworks|process)_\w+)(?:\{([^}]*)\})?/g)) {
    const metric = metricOf(name);
    if (metric === undefined) wrong.push(name);
    for (const [, label = ""] of selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)) {
      if (metric?.labels.includes(label) !== true && !added.includes(label)) wrong.push(`${name}{${label}}`);
    }
  }
  return wrong;
}

describe("shipped queries", () => {
  it("of the dashboard ask for what exists", () => {
    const exprs = panelRows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)));
    assert.ok(exprs.length > 40);
    assert.deepEqual(
      exprs.flatMap((expr) => unknownIn(withMasters(expr, 'job=~"x",instance=~"x"'))),
      [],
    );
    assert.deepEqual(unknownIn('rate(saltworks_nothing_total[5m]) / saltworks_minions{worker="0"}'), [
      "saltworks_nothing_total",
      "saltworks_minions{worker}",
    ]);
  });

  it("of the alerts ask for what exists", () => {
    const text = readFileSync(join(repositoryRoot, "packaging/prometheus/saltworks.rules.yml"), "utf8");
    const exprs = (parse(text) as RuleFile).groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
    assert.deepEqual(exprs.flatMap(unknownIn), []);
  });
});
