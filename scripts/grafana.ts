/** The dashboard for Grafana as its JSON model, from the panels of grafana-panels.ts. Source: Grafana's documentation, "Dashboard JSON model". */
import { type Panel, type PanelRow, type PanelUnit, panelRows } from "./grafana-panels.ts";

/** The masters that the operator chose, in every query. */
const masters = 'job=~"$job",instance=~"$instance"';
const source = { type: "prometheus", uid: "$datasource" } as const;
const columns = 24;
const sizes = { stat: { w: 4, h: 4 }, timeseries: { w: 12, h: 8 } } as const;
const units: Readonly<Partial<Record<PanelUnit, string>>> = { cores: "suffix: cores", minions: "short" };

/** A query of the dashboard with a choice of masters in place of `{m}`. */
export function withMasters(expr: string, choice: string): string {
  return expr.replaceAll("{m}", `{${choice}}`).replaceAll("{m,", `{${choice},`);
}

type Placed = { readonly id: number; readonly x: number; readonly y: number };

function panelModel(panel: Panel, { id, x, y }: Placed): object {
  const { title, about, kind, unit, queries, isStacked = false } = panel;
  const custom = { lineWidth: 1, fillOpacity: isStacked ? 40 : 10, stacking: { mode: isStacked ? "normal" : "none" } };
  return {
    ...{ id, type: kind, title, description: about, datasource: source, gridPos: { x, y, ...sizes[kind] } },
    fieldConfig: {
      defaults: { unit: units[unit] ?? unit, min: 0, ...(kind === "timeseries" && { custom }) },
      overrides: [],
    },
    options:
      kind === "stat"
        ? { reduceOptions: { calcs: ["lastNotNull"] }, colorMode: "none" }
        : {
            legend: { displayMode: "table", placement: "right", calcs: ["lastNotNull", "max"] },
            tooltip: { mode: "multi" },
          },
    targets: queries.map(({ expr, legend }, index) => ({
      ...{ refId: String.fromCharCode(65 + index), datasource: source },
      ...{ expr: withMasters(expr, masters), legendFormat: legend },
    })),
  };
}

/** Panels from left to right, each row of the dashboard under its title. */
function placedPanels(rows: readonly PanelRow[]): object[] {
  const models: object[] = [];
  let y = 0;
  const nextId = () => models.length + 1;
  for (const { title, panels } of rows) {
    models.push({
      id: nextId(),
      type: "row",
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: columns, h: 1 },
    });
    y += 1;
    let [x, height] = [0, 0];
    for (const panel of panels) {
      const { w, h } = sizes[panel.kind];
      if (x + w > columns || (height > 0 && h !== height)) [x, y] = [0, y + height];
      models.push(panelModel(panel, { id: nextId(), x, y }));
      [x, height] = [x + w, h];
    }
    y += height;
  }
  return models;
}

function variable(name: string, label: string, query: string): object {
  return {
    ...{ name, label, type: "query", datasource: source, query: { query, refId: name }, definition: query },
    ...{
      includeAll: true,
      multi: true,
      allValue: ".*",
      current: { text: "All", value: "$__all" },
      refresh: 2,
      sort: 1,
    },
  };
}

export function grafanaDashboard(): string {
  const model = {
    ...{ title: "Saltworks master", uid: "saltworks-master", tags: ["salt", "saltworks"], editable: true },
    ...{ schemaVersion: 38, version: 1, refresh: "30s", time: { from: "now-3h", to: "now" }, timezone: "browser" },
    ...{ graphTooltip: 1, annotations: { list: [] }, links: [] },
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus", refresh: 1 },
        variable("job", "Job", "label_values(saltworks_minions, job)"),
        variable("instance", "Master", 'label_values(saltworks_minions{job=~"$job"}, instance)'),
      ],
    },
    panels: placedPanels(panelRows),
  };
  return `${JSON.stringify(model, undefined, 2)}\n`;
}
