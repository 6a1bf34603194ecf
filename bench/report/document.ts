/** A page as a single HTML file with its styles, script and data, so that it opens from a disk without a network. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../../src/config/host/program.ts";
import { escapeHtml } from "./format.ts";

/** `header` and `body`: HTML. `data`: what the script draws. */
export function documentHtml(o: { title: string; header: string; body: string; data: object }): string {
  const uplotStyle = fileURLToPath(import.meta.resolve("uplot/dist/uPlot.min.css"));
  const uplotScript = fileURLToPath(import.meta.resolve("uplot/dist/uPlot.iife.min.js"));
  const styles = [uplotStyle, ownFile("browser.css")].map(textOf).join("\n");
  const scripts = [uplotScript, ownFile("browser.js")].map(textOf);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(o.title)}</title>
<style>${styles}</style>
</head>
<body>
<header>
${o.header}
</header>
${o.body}
<script id="data" type="application/json">${scriptSafe(JSON.stringify(o.data))}</script>
${scripts.map((script) => `<script>${script}</script>`).join("\n")}
</body>
</html>
`;
}

function textOf(path: string): string {
  return readFileSync(path, "utf8");
}

/** Read from the sources, because the compiler copies only programs. */
function ownFile(name: string): string {
  return join(packageRoot(), "bench", "report", name);
}

/** JSON within a script element, escaped so that it cannot hold the element's end. */
function scriptSafe(json: string): string {
  return json.replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

export function section(id: string, heading: string, content: string, className = ""): string {
  if (content === "") return "";
  return `<section id="${id}" class="${className}"><h2>${escapeHtml(heading)}</h2>${content}</section>`;
}

/** Shows one plot at a time, with a menu above it if there are several. */
export function chosen(id: string, heading: string, plots: readonly { readonly title: string }[], after = ""): string {
  if (plots.length === 0) return "";
  const options = plots.map(({ title }) => `<option>${escapeHtml(title)}</option>`);
  const choice = plots.length < 2 ? "" : `<select aria-label="run">${options.join("")}</select>`;
  return section(id, heading, `${choice}<div class="place plot"></div>${after}`);
}
