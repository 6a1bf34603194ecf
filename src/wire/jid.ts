/**
 * Job ids: the time of the publish in UTC as 20 digits, microseconds included.
 * Source: docs/protocol.md section 6.1. Pure: the time is an argument.
 */
import type { Value } from "./values.ts";

const jidPattern = /^\d{20}(?:_.+)?$/s;
const monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `epochMs` whole milliseconds since 1970, `micros` 0..999 within the millisecond. */
export function jidAt(epochMs: number, micros: number): string {
  const digits = new Date(epochMs).toISOString().replace(/\D/g, "");
  return digits + String(micros).padStart(3, "0");
}

/**
 * Whether a text can be a job id in tags, file names and the store's keys. An operator may choose one that is not a time. A slash would
 * lead to another folder or part of a tag, a line feed would end the tag.
 */
export function isUsableJid(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
  return /^[^/\\\u0000-\u001f\u007f]{1,64}$/.test(text) && text !== "." && text !== "..";
}

/** 20 digits, or 20 digits, an underscore and more (`unique_jid` appends a process id). */
export function isJid(text: string): boolean {
  return jidPattern.test(text);
}

/** Returns the text of a job id that YAML read as a number; returns other values unchanged. */
export function jidAsText(value: Value): Value {
  return typeof value === "bigint" && isJid(value.toString()) ? value.toString() : value;
}

/** To the millisecond. */
export function jidTime(jid: string): Date {
  const [year, month, day, hour, minute, second] = partsOf(jid);
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${jid.slice(14, 17)}Z`);
}

/** As Salt prints a job's StartTime: `2026, Nov 20 15:55:53.671842`; empty for what is not a jid. */
export function startTimeText(jid: string): string {
  if (!isJid(jid)) return "";
  const [year, month, day, hour, minute, second] = partsOf(jid);
  return `${year}, ${monthNames[Number(month) - 1] ?? ""} ${day} ${hour}:${minute}:${second}.${jid.slice(14, 20)}`;
}

/** The 20 digits of a job id at a StartTime; undefined for another text. */
export function jidOfStartTime(text: string): string | undefined {
  const [year, monthName, ...rest] = text.trim().split(/[\s,:.]+/);
  const month = monthNames.indexOf(monthName ?? "") + 1;
  const digits = `${year}${String(month).padStart(2, "0")}${rest.join("")}`;
  return month > 0 && isJid(digits) ? digits : undefined;
}

function partsOf(jid: string): string[] {
  return [jid.slice(0, 4), jid.slice(4, 6), jid.slice(6, 8), jid.slice(8, 10), jid.slice(10, 12), jid.slice(12, 14)];
}
