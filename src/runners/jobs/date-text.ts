/**
 * Dates as operators write them, for `start_time` and `end_time`: the forms that Salt takes through Python's dateutil and that mean one thing
 * only. What is not among them is refused by name. Times are UTC, as job ids are.
 */
import { SaltworksError } from "../../errors.ts";
import { jidAt } from "../../wire/jid.ts";

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const monthWord =
  /^(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)$/;
const fillWord = /^(mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)(day|sday|nesday|rsday|urday)?$|^(of|at|on|and|t)$/;
const clock =
  /(?<!\d)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*([ap]m?)?\s*(z|utc|gmt|[+-]\d{2}:?(?:\d{2})?)?(?![\d:a-z])/;
const hourOnly = /(?<![\d:])(\d{1,2})\s*([ap]m)(?![a-z])()()()()/;
const compact = /^(\d{4})(\d{2})(\d{2})(?:t?(\d{2})(\d{2})(?:(\d{2})(?:[.,](\d+))?)?(z)?)?$/;
const jobId = /^\d{20}$/;
const msPerMinute = 60_000;

type Day = { readonly year: number; readonly month: number; readonly day: number };
/** `fraction`: digits after the second's point. */
type Clock = { readonly hour: number; readonly minute: number; readonly second: number; readonly fraction: string };

/**
 * @returns the 20 digits of a job id of that moment. Without a time it is midnight; without a date, today
 * @throws SaltworksError FUNCTION_FAILED
 */
export function momentOf(text: string, nowMs: number): string {
  const lower = text.trim().toLowerCase();
  if (jobId.test(lower)) return lower;
  const whole = compact.exec(lower);
  if (whole !== null) {
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = whole
      .slice(1, 7)
      .map((part) => Number(part ?? 0));
    return momentAt(text, { year, month, day }, { hour, minute, second, fraction: whole[7] ?? "" }, 0);
  }
  const time = clock.exec(lower) ?? undefined;
  const hour = time === undefined ? (hourOnly.exec(lower) ?? undefined) : undefined;
  const found = time ?? hour;
  const rest =
    found === undefined ? lower : `${lower.slice(0, found.index)} ${lower.slice(found.index + found[0].length)}`;
  const day = dayOf(text, rest.trim(), new Date(nowMs), found !== undefined);
  return momentAt(text, day, clockOf(text, time, hour), zoneMinutes(time?.[6]));
}

function refused(text: string, why: string): SaltworksError {
  const forms = "2026-11-20 15:33:00, 2026, Nov 20 15:33, Nov 20 2026 3pm, 11/20/2026, 20261120153300, 15:33";
  return new SaltworksError(
    "FUNCTION_FAILED",
    `${JSON.stringify(text)} is no date that is understood (${why}); forms: ${forms}`,
  );
}

function clockOf(text: string, time: RegExpExecArray | undefined, hourAlone: RegExpExecArray | undefined): Clock {
  const half = time?.[5] ?? hourAlone?.[2];
  const given = Number(time?.[1] ?? hourAlone?.[1] ?? 0);
  if (half !== undefined && (given < 1 || given > 12)) throw refused(text, "an hour with am or pm is 1 to 12");
  const hour = half === undefined ? given : (given % 12) + (half.startsWith("p") ? 12 : 0);
  return { hour, minute: Number(time?.[2] ?? 0), second: Number(time?.[3] ?? 0), fraction: time?.[4] ?? "" };
}

function zoneMinutes(zone: string | undefined): number {
  if (zone === undefined || !/^[+-]/.test(zone)) return 0;
  const digits = zone.replace(/\D/g, "").padEnd(4, "0");
  return (zone.startsWith("-") ? -1 : 1) * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2)));
}

function dayOf(text: string, rest: string, now: Date, hasTime: boolean): Day {
  const words = rest
    .replace(/(\d)(st|nd|rd|th)\b/g, "$1")
    // The T between date and time.
    .replace(/(\d)t\b/g, "$1")
    .split(/[\s,/.-]+/)
    .filter((word) => word !== "" && !fillWord.test(word));
  const today = { year: now.getUTCFullYear(), month: now.getUTCMonth() + 1, day: now.getUTCDate() };
  if (words.length === 0 && hasTime) return today;
  const named = words.filter((word) => monthWord.test(word));
  const numbers = words.filter((word) => /^\d+$/.test(word));
  if (named.length + numbers.length !== words.length || named.length > 1) throw refused(text, "it has other words");
  const isYear = (word: string | undefined) => word?.length === 4;
  const [first, second, third] = numbers;
  if (named.length === 1) {
    const month = months.indexOf(named[0]?.slice(0, 3) ?? "") + 1;
    const years = numbers.filter(isYear);
    const days = numbers.filter((word) => word.length <= 2);
    if (days.length !== 1 || years.length > 1 || days.length + years.length !== numbers.length)
      throw refused(text, "a month needs a day, and a year has four digits");
    return { year: Number(years[0] ?? today.year), month, day: Number(days[0]) };
  }
  if (numbers.length === 3 && isYear(first)) return { year: Number(first), month: Number(second), day: Number(third) };
  if (numbers.length === 3 && isYear(third)) {
    const isDayFirst = Number(first) > 12;
    const [month, day] = isDayFirst ? [second, first] : [first, second];
    return { year: Number(third), month: Number(month), day: Number(day) };
  }
  throw refused(text, "it needs a day, a month and a year of four digits");
}

function momentAt(
  text: string,
  { year, month, day }: Day,
  { hour, minute, second, fraction }: Clock,
  zone: number,
): string {
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
  const isSame =
    date.getUTCFullYear() === year &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second;
  if (!isSame) throw refused(text, "there is no such day or time");
  const micros = Number(fraction.slice(0, 6).padEnd(6, "0"));
  return jidAt(date.getTime() - zone * msPerMinute + Math.floor(micros / 1_000), micros % 1_000);
}
