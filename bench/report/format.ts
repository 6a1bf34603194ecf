/** Formats numbers and texts for tables of the terminal and of the page. */

const htmlEntities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => htmlEntities[character] ?? "");
}

/** Three significant digits, thousands separated: 12,300; 4.57; 0.0123. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : "∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return grouped(value);
  if (Math.abs(value) >= 100) return grouped(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function grouped(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** Microseconds as milliseconds, the unit in which latencies are shown. */
export function formatMs(us: number): string {
  return formatNumber(us / 1_000);
}

const mebibyte = 1024 * 1024;

export function formatMebibytes(bytes: number): string {
  return formatNumber(Math.round((bytes / mebibyte) * 10) / 10);
}

/** A ratio as a percentage, 0.253 as +25.3 %. */
export function formatChange(ratio: number): string {
  const percent = (ratio - 1) * 100;
  const digits = Math.abs(percent) >= 10 ? 0 : 1;
  return `${percent >= 0 ? "+" : "−"}${Math.abs(percent).toFixed(digits)} %`;
}

/** Configuration and parameter values on one line. */
export function formatValue(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
