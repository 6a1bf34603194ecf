/**
 * Times as operators write them, `Monday 5:00pm`, `November 22, 2026 17:30` or `17:30`, in local time; what is left out is today's.
 * Source: the forms that Salt reads through python-dateutil, observed; test/minion/schedule/timing.test.ts.
 */

const dayMs = 86_400_000;
const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const months = [
  ...["january", "february", "march", "april", "may", "june", "july"],
  ...["august", "september", "october", "november", "december"],
];
/** Words that say nothing. */
const fillers = new Set(["at", "on", "and", "of", "t", "ad", "st", "nd", "rd", "th"]);

type Clock = { readonly hour: number; readonly minute: number; readonly second: number; readonly ms: number };
type Day = { readonly year?: number; readonly month?: number; readonly day?: number; readonly weekday?: number };

/** Milliseconds since 1970; undefined for a text that names no time. */
export function parseDateText(text: string, nowMs: number): number | undefined {
  let rest = text.trim().toLowerCase();
  if (rest === "") return undefined;
  const clock = takeClock(rest);
  if (clock === "invalid") return undefined;
  if (clock !== undefined) rest = clock.rest;
  const day = readDay(rest, nowMs);
  if (day === undefined) return undefined;
  const { hour, minute, second, ms } = clock?.clock ?? { hour: 0, minute: 0, second: 0, ms: 0 };
  const date = dateOf(day, nowMs);
  if (date === undefined) return undefined;
  if (clock?.offsetMinutes !== undefined) {
    const utc = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate(), hour, minute, second, ms);
    return utc - clock.offsetMinutes * 60_000;
  }
  date.setHours(hour, minute, second, ms);
  return date.getTime();
}

/** The first moment of the local day after this one. */
export function nextMidnight(nowMs: number): number {
  const date = new Date(nowMs);
  date.setHours(24, 0, 0, 0);
  return date.getTime();
}

type TakenClock = { readonly clock: Clock; readonly offsetMinutes: number | undefined; readonly rest: string };

const colonClock =
  /(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?![\d:])\s*([ap]m?\b)?\s*(z\b|utc\b|gmt\b|[+-]\d{2}:?\d{2}\b)?/;
const bareClock = /(?<![\d:])(\d{1,2})\s*([ap]m)\b/;
const compactClock = /(?<=\d{8})t(\d{2})(\d{2})(\d{2})?(?!\d)(z\b)?/;

function takeClock(text: string): TakenClock | "invalid" | undefined {
  const colon = colonClock.exec(text);
  const compact = colon ?? compactClock.exec(text);
  const bare = compact ?? bareClock.exec(text);
  if (bare === null) return undefined;
  const [whole, hours = "", second = "", third, fraction, half, zone] = bare;
  const rest = `${text.slice(0, bare.index)} ${text.slice(bare.index + whole.length)}`;
  const parts: Parts =
    colon !== null
      ? { hours, minutes: second, seconds: third, fraction, half, zone }
      : compact !== null
        ? { hours, minutes: second, seconds: third, zone: fraction }
        : { hours, minutes: "0", half: second };
  const clock = clockOf(parts);
  return clock === undefined ? "invalid" : { clock, offsetMinutes: offsetOf(parts.zone), rest };
}

type Parts = {
  readonly hours: string;
  readonly minutes: string;
  readonly seconds?: string | undefined;
  readonly fraction?: string | undefined;
  readonly half?: string | undefined;
  readonly zone?: string | undefined;
};

function clockOf({ hours, minutes, seconds = "0", fraction = "0", half }: Parts): Clock | undefined {
  let hour = Number(hours);
  if (half !== undefined) {
    if (hour < 1 || hour > 12) return undefined;
    hour = (hour % 12) + (half.startsWith("p") ? 12 : 0);
  }
  const clock = {
    hour,
    minute: Number(minutes),
    second: Number(seconds),
    ms: Math.floor(Number(`0.${fraction}`) * 1_000),
  };
  return clock.hour > 23 || clock.minute > 59 || clock.second > 59 ? undefined : clock;
}

function offsetOf(zone: string | undefined): number | undefined {
  if (zone === undefined) return undefined;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? [];
  const offset = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  return sign === "-" ? -offset : offset;
}

/** What the text says of the day, the time taken out; undefined for words that are no part of a date. */
function readDay(text: string, nowMs: number): Day | undefined {
  const iso = /^\s*(\d{4})(\d{2})(\d{2})\s*$/.exec(text);
  if (iso !== null) return { year: Number(iso[1]), month: Number(iso[2]), day: Number(iso[3]) };
  const numbers: string[] = [];
  let weekday: number | undefined;
  let month: number | undefined;
  for (const [word] of text.matchAll(/\d+|[a-z]+|[^\s\da-z]/g)) {
    if (/^\d/.test(word)) numbers.push(word);
    else if (/^[a-z]/.test(word)) {
      const asDay = nameIndex(weekdays, word);
      const asMonth = nameIndex(months, word === "sept" ? "sep" : word);
      if (asDay !== undefined && weekday === undefined) weekday = asDay;
      else if (asMonth !== undefined && month === undefined) month = asMonth + 1;
      else if (!fillers.has(word)) return undefined;
    } else if (!",.;-/'".includes(word)) return undefined;
  }
  const day = month === undefined ? fromNumbers(numbers, nowMs) : besideMonth(numbers, month, nowMs);
  return day === undefined ? undefined : { ...day, ...(weekday === undefined ? {} : { weekday }) };
}

/** A whole name or its first three letters. */
function nameIndex(names: readonly string[], word: string): number | undefined {
  const index = names.findIndex((name) => name === word || name.slice(0, 3) === word);
  return index < 0 ? undefined : index;
}

function besideMonth(numbers: readonly string[], month: number, nowMs: number): Day | undefined {
  if (numbers.length > 2) return undefined;
  let year: string | undefined;
  let day: string | undefined;
  for (const number of numbers) {
    const isYear = number.length > 2 || Number(number) > 31 || day !== undefined;
    if (isYear && year === undefined) year = number;
    else if (!isYear) day = number;
    else return undefined;
  }
  return {
    month,
    ...(day === undefined ? {} : { day: Number(day) }),
    ...(year === undefined ? {} : { year: wholeYear(year, nowMs) }),
  };
}

/** Month first, as in the United States, unless that cannot be; a year of four digits may come first. */
function fromNumbers(numbers: readonly string[], nowMs: number): Day | undefined {
  const [first, second, third] = numbers;
  if (first === undefined) return {};
  if (numbers.length > 3) return undefined;
  if (second === undefined) return first.length > 2 ? { year: wholeYear(first, nowMs) } : { day: Number(first) };
  if (first.length > 2 || Number(first) > 31) {
    const month = Number(second);
    const year = wholeYear(first, nowMs);
    return third === undefined ? { year, month } : { year, month, day: Number(third) };
  }
  const year = third === undefined ? {} : { year: wholeYear(third, nowMs) };
  if (third === undefined && (second.length > 2 || Number(second) > 31)) {
    return { month: Number(first), year: wholeYear(second, nowMs) };
  }
  return Number(first) > 12
    ? { day: Number(first), month: Number(second), ...year }
    : { month: Number(first), day: Number(second), ...year };
}

/** Two digits mean the year of that ending which is less than fifty years away. */
function wholeYear(digits: string, nowMs: number): number {
  if (digits.length > 2) return Number(digits);
  const present = new Date(nowMs).getFullYear();
  const year = present - (present % 100) + Number(digits);
  if (year >= present + 50) return year - 100;
  return year < present - 50 ? year + 100 : year;
}

/** Midnight of the day; a weekday alone is the next one, today included. */
function dateOf({ year, month, day, weekday }: Day, nowMs: number): Date | undefined {
  const today = new Date(nowMs);
  const wholeYearNumber = year ?? today.getFullYear();
  const monthIndex = month === undefined ? today.getMonth() : month - 1;
  if (monthIndex < 0 || monthIndex > 11 || wholeYearNumber < 1 || wholeYearNumber > 9_999) return undefined;
  const lastDay = new Date(Date.UTC(wholeYearNumber, monthIndex + 1, 1) - dayMs).getUTCDate();
  if (day !== undefined && (day < 1 || day > lastDay)) return undefined;
  const date = new Date(wholeYearNumber, monthIndex, day ?? Math.min(today.getDate(), lastDay));
  date.setFullYear(wholeYearNumber);
  if (weekday !== undefined && day === undefined) date.setDate(date.getDate() + ((weekday - date.getDay() + 7) % 7));
  return date;
}
