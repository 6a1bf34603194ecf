/** Numbers, times and values as the pages show them. */

export function count(value: number): string {
  const digits = value > 0 && value < 100 && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function minions(value: number): string {
  return `${count(value)} ${value === 1 ? "minion" : "minions"}`;
}

export function bytes(value: number): string {
  const power = value < 1_000 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1_000 ** power;
  return `${power === 0 || scaled >= 99.5 ? Math.round(scaled) : scaled.toFixed(1)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

/** Null: nothing was measured. */
export function duration(seconds: number | null): string {
  if (seconds === null) return "none";
  if (!Number.isFinite(seconds)) return "long";
  if (seconds >= 1 || seconds === 0) return `${round(seconds)} s`;
  return seconds >= 0.001 ? `${round(seconds * 1_000)} ms` : `${round(seconds * 1e6)} µs`;
}

function round(value: number): string {
  return value >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(2)));
}

/** What is cut out of `2026-11-24T15:04:05.123Z`. */
const timeForms = { whole: [0, 19], clock: [11, 19], exact: [11, 23] } as const;

/**
 * A Unix time in milliseconds as `2026-11-24 15:04:05`, as its clock `15:04:05`, or exactly, `15:04:05.123`. In UTC, as job ids are; empty for what is
 * not a time.
 */
export function timeText(unixMs: number, form: keyof typeof timeForms = "whole"): string {
  if (!Number.isFinite(unixMs)) return "";
  return new Date(unixMs)
    .toISOString()
    .slice(...timeForms[form])
    .replace("T", " ");
}

/** The time in a job id, which begins with its UTC date. NaN for another text. */
export function msOfJid(jid: string): number {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/.exec(jid);
  return parts === null ? Number.NaN : Date.parse(`${parts.slice(1, 4).join("-")}T${parts.slice(4, 7).join(":")}Z`);
}

/** The time of a text in UTC that the master gives: an event's `2026-11-24T15:04:05.123456`, or a job's `2026, Nov 24 15:04:05.123456`. Else NaN. */
export function msOfText(text: unknown): number {
  if (typeof text !== "string") return Number.NaN;
  const ofJob = /^(\d{4}), (\w{3} \d{1,2}) ([\d:.]+)$/.exec(text);
  return Date.parse(ofJob === null ? `${text}Z` : `${ofJob[2]}, ${ofJob[1]} ${ofJob[3]} UTC`);
}

/** One line: texts as they are, everything else as JSON. */
export function shortValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Texts keep their lines; everything else is indented JSON. */
export function longValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
}

/** Whether a text matches a glob with * and ?. A text without either must be a part of it. */
export function globFilter(pattern: string): (text: string) => boolean {
  const trimmed = pattern.trim();
  if (!/[*?]/.test(trimmed)) return (text) => text.includes(trimmed);
  const parts = trimmed.split(/([*?])/).map((part) => {
    return part === "*" ? "[^]*" : part === "?" ? "[^]" : part.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  });
  const expression = new RegExp(`^${parts.join("").replaceAll(/(?:\[\^\]\*)+/g, "[^]*")}$`);
  return (text) => expression.test(text);
}
