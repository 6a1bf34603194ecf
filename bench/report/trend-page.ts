/** The page of a trend: what changed in sentences, a plot for each figure, and all values. All text is escaped here. */
import { documentHtml, section } from "./document.ts";
import { escapeHtml, formatNumber } from "./format.ts";
import { right, tableHtml, valuesTable } from "./tables.ts";
import { dayOf, figureNames, type Trend, trendPlots } from "./trend.ts";

export function trendHtml(trend: Trend): string {
  const { scenario, machines, rows, changes, leftOut } = trend;
  const names = figureNames(trend);
  const table = tableHtml(
    ["started, UTC", "commit", "series", ...names],
    rows.map((row) => ({
      head: dayOf(row),
      cells: [row.commit, row.series, ...names.map((name) => right(formatFigure(row.figures[name])))],
    })),
  );
  const list = (texts: readonly string[]): string =>
    texts.length === 0 ? "" : `<ul>${texts.map((text) => `<li>${escapeHtml(text)}</li>`).join("")}</ul>`;
  return documentHtml({
    title: `${scenario.name}: trend`,
    header: `<h1>${escapeHtml(scenario.name)} <small class="about">version ${scenario.version}, ${rows.length} values over time</small></h1>`,
    body: [
      section("changes", "What changed from the first to the last", list(changes)),
      section("trend", "Figures over time", '<div class="place"></div>'),
      section("values", "Values", table, "wide"),
      section("machines", "Machines", valuesTable(machines)),
      section("left-out", "Left out", list(leftOut)),
    ].join("\n"),
    data: { trend: trendPlots(trend) },
  });
}

function formatFigure(value: number | undefined): string {
  return value === undefined ? "–" : formatNumber(value);
}
