/** The page's section on latency under load: a plot with the knee, and a table of each line. All text is escaped here. */
import type { Curve } from "../results/schema.ts";
import { curveCells, curveHeadings, curvePlots, curveTitle, kneeSentence, mastersOf } from "./curve.ts";
import { chosen, section } from "./document.ts";
import { escapeHtml, percentileNote } from "./format.ts";
import { right, tableHtml } from "./tables.ts";

export function curveSection(curve: Curve): string {
  const masters = mastersOf(curve);
  const tables = curve.lines.map((line) => {
    const rows = line.rates.map((rate) => {
      const [head = "", ...cells] = curveCells(line, rate);
      return { head, cells: cells.map((cell, index) => (index === cells.length - 1 ? cell : right(cell))) };
    });
    const title = `<h3>${escapeHtml(curveTitle(line, masters))}</h3>`;
    return `${title}<p>${escapeHtml(kneeSentence(line, curve.key))}</p>${tableHtml(curveHeadings(curve.key), rows)}`;
  });
  const [heading, plots] = ["Latency under load", curvePlots(curve)];
  const content = `${tables.join("")}<p class="note">${escapeHtml(percentileNote)}</p>`;
  return plots.length === 0 ? section("curve", heading, content) : chosen("curve", heading, plots, content);
}
