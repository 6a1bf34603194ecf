/**
 * Reads times as operators write them: `Monday 5:00pm`, `November 22, 2026 17:30`, `20261122T173000`, `17:30`.
 * Source: the forms that Salt reads through python-dateutil, observed; test/minion/schedule/timing.test.ts, test/runners/jobs/date-text.test.ts.
 */

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const months = [
  ...["january", "february", "march", "april", "may", "june", "july"],
  ...["august", "september", "october", "november", "december"],
];
const shortNames = new Map([
  ["sept", "sep"],
  ["tues", "tue"],
  ["thur", "thu"],
  ["thurs", "thu"],
]);
/** Words without a meaning in a date. */
const fillers = new Set(["at", "on", "and", "of", "t", "ad", "st", "nd", "rd", "th"]);
const minuteMs = 60_000;
const microDigits = 6;

/** How a caller reads dates. */
export type DateReading = {
  /** The zone of a time that does not name one. */
  readonly zone: "local" | "utc";
  /**
   * `today`: parts of the date that are left out are today's, and a lone weekday is the next one, today included.
   * `refused`: rejects incomplete dates and years of two digits. Two exceptions: the year after a month's name, and the date when only a time is
   * given.
   */
  readonly leftOut: "today" | "refused";
};

/** Milliseconds since 1970, and the microseconds beyond them. */
export type Moment = { readonly ms: number; readonly micros: number };

type Clock = { readonly hour: number; readonly minute: number; readonly second: number; readonly micros: number };
type Day = {
  readonly yearDigits?: string;
  readonly month?: number;
  readonly day?: number;
  readonly weekday?: number;
  /** Whether the month is written as a name. */
  readonly isNamed: boolean;
};
/** A day of the calendar; `monthIndex` is 0 to 11. */
type CalendarDay = { readonly year: number; readonly monthIndex: number; readonly day: number };

const midnight: Clock = { hour: 0, minute: 0, second: 0, micros: 0 };

/** Reads a local time whose missing parts are today's. @returns milliseconds since 1970; undefined for any other text */
export function parseDateText(text: string, nowMs: number): number | undefined {
  return readDate(text, nowMs, { zone: "local", leftOut: "today" })?.ms;
}

/** A date without a time means midnight. @returns undefined for a text that is not a time, or omits more than `leftOut` allows */
export function readDate(text: string, nowMs: number, { zone, leftOut }: DateReading): Moment | undefined {
  const whole = text.trim().toLowerCase();
  if (whole === "") return undefined;
  const taken = takeClock(whole);
  if (taken === "invalid") return undefined;
  const day = readDay(taken?.rest ?? whole);
  if (day === undefined) return undefined;
  if (leftOut === "refused" && !isWhole(day, taken !== undefined)) return undefined;
  const found = calendarDay(day, today(nowMs, zone));
  if (found === undefined) return undefined;
  const clock = taken?.clock ?? midnight;
  const offsetMinutes = taken?.offsetMinutes ?? (zone === "utc" ? 0 : undefined);
  return { ms: msOf(found, clock, offsetMinutes), micros: clock.micros % 1_000 };
}

/** `offsetMinutes`: the time's distance from UTC; undefined for local time. */
function msOf({ year, monthIndex, day }: CalendarDay, clock: Clock, offsetMinutes: number | undefined): number {
  const time = [clock.hour, clock.minute, clock.second, Math.floor(clock.micros / 1_000)] as const;
  if (offsetMinutes !== undefined) return utcDay(year, monthIndex, day).setUTCHours(...time) - offsetMinutes * minuteMs;
  const date = new Date(0);
  date.setFullYear(year, monthIndex, day);
  return date.setHours(...time);
}

/** Midnight. `Date.UTC` would add 1900 to years below 100. */
function utcDay(year: number, monthIndex: number, day: number): Date {
  const date = new Date(0);
  date.setUTCFullYear(year, monthIndex, day);
  return date;
}

/** The first moment of the local day after this one. */
export function nextMidnight(nowMs: number): number {
  const date = new Date(nowMs);
  date.setHours(24, 0, 0, 0);
  return date.getTime();
}

type TakenClock = { readonly clock: Clock; readonly offsetMinutes: number | undefined; readonly rest: string };

const colonClock =
  /(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?![\d:])\s*([ap]m?\b)?\s*(z\b|utc\b|gmt\b|[+-]\d{2}(?::?\d{2})?\b)?/;
const bareClock = /(?<![\d:])(\d{1,2})\s*([ap]m)\b/;
const compactClock = /(?<=(?<!\d)\d{8})t?(\d{2})(\d{2})(?:(\d{2})(?:[.,](\d+))?)?(?!\d)(z\b)?/;

/** Splits a text into the time of day and the `rest`. */
function takeClock(text: string): TakenClock | "invalid" | undefined {
  const colon = colonClock.exec(text);
  const compact = colon ?? compactClock.exec(text);
  const found = compact ?? bareClock.exec(text);
  if (found === null) return undefined;
  const [whole, hours = "", second = "", seconds, fraction, fifth, sixth] = found;
  const rest = `${text.slice(0, found.index)} ${text.slice(found.index + whole.length)}`;
  const parts: Parts =
    colon !== null
      ? { hours, minutes: second, seconds, fraction, half: fifth, zone: sixth }
      : compact !== null
        ? { hours, minutes: second, seconds, fraction, zone: fifth }
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

function clockOf({ hours, minutes, seconds = "0", fraction = "", half }: Parts): Clock | undefined {
  let hour = Number(hours);
  if (half !== undefined) {
    if (hour < 1 || hour > 12) return undefined;
    hour = (hour % 12) + (half.startsWith("p") ? 12 : 0);
  }
  const micros = Number(fraction.slice(0, microDigits).padEnd(microDigits, "0"));
  const clock = { hour, minute: Number(minutes), second: Number(seconds), micros };
  return clock.hour > 23 || clock.minute > 59 || clock.second > 59 ? undefined : clock;
}

function offsetOf(zone: string | undefined): number | undefined {
  if (zone === undefined) return undefined;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  const offset = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  return sign === "-" ? -offset : offset;
}

/** The day in a text without its time of day; undefined for words that do not belong to a date. */
function readDay(text: string): Day | undefined {
  const [, year, monthDigits, dayDigits] = /^\s*(\d{4})(\d{2})(\d{2})\s*$/.exec(text) ?? [];
  if (year !== undefined) {
    return { yearDigits: year, month: Number(monthDigits), day: Number(dayDigits), isNamed: false };
  }
  const numbers: string[] = [];
  let weekday: number | undefined;
  let month: number | undefined;
  for (const [word] of text.matchAll(/\d+|[a-z]+|[^\s\da-z]/g)) {
    if (/^\d/.test(word)) numbers.push(word);
    else if (/^[a-z]/.test(word)) {
      const name = shortNames.get(word) ?? word;
      const asDay = nameIndex(weekdays, name);
      const asMonth = nameIndex(months, name);
      if (asDay !== undefined && weekday === undefined) weekday = asDay;
      else if (asMonth !== undefined && month === undefined) month = asMonth + 1;
      else if (!fillers.has(word)) return undefined;
    } else if (!",.;-/'".includes(word)) return undefined;
  }
  const day = month === undefined ? fromNumbers(numbers) : besideMonth(numbers, month);
  return day === undefined ? undefined : { ...day, ...(weekday === undefined ? {} : { weekday }) };
}

/** Index of a name, given whole or as its first three letters. */
function nameIndex(names: readonly string[], word: string): number | undefined {
  const index = names.findIndex((name) => name === word || name.slice(0, 3) === word);
  return index < 0 ? undefined : index;
}

function besideMonth(numbers: readonly string[], month: number): Day | undefined {
  if (numbers.length > 2) return undefined;
  let yearDigits: string | undefined;
  let day: string | undefined;
  for (const number of numbers) {
    const isYear = number.length > 2 || Number(number) > 31 || day !== undefined;
    if (isYear && yearDigits === undefined) yearDigits = number;
    else if (!isYear) day = number;
    else return undefined;
  }
  return {
    month,
    isNamed: true,
    ...(day === undefined ? {} : { day: Number(day) }),
    ...(yearDigits === undefined ? {} : { yearDigits }),
  };
}

/** Month first, as in the United States, unless it is over 12; a year of four digits may come first. */
function fromNumbers(numbers: readonly string[]): Day | undefined {
  const [first, second, third] = numbers;
  const isNamed = false;
  if (first === undefined) return { isNamed };
  if (numbers.length > 3) return undefined;
  if (second === undefined) return first.length > 2 ? { yearDigits: first, isNamed } : { day: Number(first), isNamed };
  if (first.length > 2 || Number(first) > 31) {
    const month = Number(second);
    const start = { yearDigits: first, month, isNamed };
    return third === undefined ? start : { ...start, day: Number(third) };
  }
  if (third === undefined && (second.length > 2 || Number(second) > 31))
    return { month: Number(first), yearDigits: second, isNamed };
  const year = third === undefined ? {} : { yearDigits: third };
  return Number(first) > 12
    ? { day: Number(first), month: Number(second), ...year, isNamed }
    : { month: Number(first), day: Number(second), ...year, isNamed };
}

/** Whether the text has the whole date, or omits only what `refused` of `DateReading` allows. */
function isWhole({ yearDigits, month, day, weekday, isNamed }: Day, hasClock: boolean): boolean {
  if (yearDigits === undefined && month === undefined && day === undefined) return hasClock && weekday === undefined;
  if (month === undefined || day === undefined) return false;
  return yearDigits === undefined ? isNamed : yearDigits.length === 4;
}

function today(nowMs: number, zone: DateReading["zone"]): CalendarDay {
  const now = new Date(nowMs);
  return zone === "utc"
    ? { year: now.getUTCFullYear(), monthIndex: now.getUTCMonth(), day: now.getUTCDate() }
    : { year: now.getFullYear(), monthIndex: now.getMonth(), day: now.getDate() };
}

/** Two digits mean the year with that ending that is less than fifty years away. */
function wholeYear(digits: string, present: number): number {
  if (digits.length > 2) return Number(digits);
  const year = present - (present % 100) + Number(digits);
  if (year >= present + 50) return year - 100;
  return year < present - 50 ? year + 100 : year;
}

function calendarDay({ yearDigits, month, day, weekday }: Day, present: CalendarDay): CalendarDay | undefined {
  const year = yearDigits === undefined ? present.year : wholeYear(yearDigits, present.year);
  const monthIndex = month === undefined ? present.monthIndex : month - 1;
  if (monthIndex < 0 || monthIndex > 11 || year < 1 || year > 9_999) return undefined;
  // Day 0 of the next month is the last one of this month.
  const lastDay = utcDay(year, monthIndex + 1, 0).getUTCDate();
  if (day !== undefined && (day < 1 || day > lastDay)) return undefined;
  const shown = day ?? Math.min(present.day, lastDay);
  if (weekday === undefined || day !== undefined) return { year, monthIndex, day: shown };
  const date = utcDay(year, monthIndex, shown);
  date.setUTCDate(shown + ((weekday - date.getUTCDay() + 7) % 7));
  return { year: date.getUTCFullYear(), monthIndex: date.getUTCMonth(), day: date.getUTCDate() };
}
