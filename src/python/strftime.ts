/** Reads and writes local times by formats of C's `strptime` and `strftime`, as far as Salt's schedules use them (`once_fmt`, `time_fmt`). */

const dayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const monthNames = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];

/** Salt's default format. */
export const standardFormat = "%Y-%m-%dT%H:%M:%S";

const namesPattern = (names: readonly string[]) => names.join("|");
const shortNames = (names: readonly string[]) => names.map((name) => name.slice(0, 3));

const patterns: Readonly<Record<string, string>> = {
  Y: "\\d{4}",
  y: "\\d{2}",
  m: "1[0-2]|0[1-9]|[1-9]",
  d: "3[01]|[12]\\d|0[1-9]|[1-9]| [1-9]",
  H: "2[0-3]|[01]\\d|\\d",
  I: "1[0-2]|0[1-9]|[1-9]",
  M: "[0-5]\\d|\\d",
  S: "[0-5]\\d|\\d",
  f: "\\d{1,6}",
  p: "am|pm",
  A: namesPattern(dayNames),
  a: namesPattern(shortNames(dayNames)),
  B: namesPattern(monthNames),
  b: namesPattern(shortNames(monthNames)),
  z: "[+-]\\d{2}:?\\d{2}|Z",
};

/** Directives that stand for several others. */
const composed: Readonly<Record<string, string>> = { T: "%H:%M:%S", D: "%m/%d/%y", F: "%Y-%m-%d", R: "%H:%M" };

function expanded(format: string): string {
  return format.replaceAll(/%([TDFR])/g, (_, letter: string) => composed[letter] ?? "");
}

/** Returns milliseconds since 1970; undefined if the text does not have the form, or if the form has an unknown directive. */
export function parseByFormat(text: string, format: string): number | undefined {
  const letters: string[] = [];
  let pattern = "";
  for (const [part] of expanded(format).matchAll(/%.|\s+|[^%\s]|%$/g)) {
    if (/^\s/.test(part)) pattern += "\\s+";
    else if (part === "%%") pattern += "%";
    else if (part.length === 2 && part.startsWith("%")) {
      const letter = part.slice(1);
      const known = patterns[letter];
      if (known === undefined) return undefined;
      letters.push(letter);
      pattern += `(${known})`;
    } else pattern += part.replace(/[\\^$.*+?()[\]{}|]/, "\\$&");
  }
  const found = new RegExp(`^${pattern}$`, "i").exec(text);
  if (found === null) return undefined;
  return momentOf(new Map(letters.map((letter, index) => [letter, found[index + 1] ?? ""])));
}

function momentOf(fields: ReadonlyMap<string, string>): number | undefined {
  const number = (letter: string, absent: number) => Number(fields.get(letter) ?? absent);
  const short = number("y", 0);
  const year = fields.has("y") ? (short < 69 ? 2_000 : 1_900) + short : number("Y", 1_900);
  const monthName = (fields.get("B") ?? fields.get("b"))?.slice(0, 3).toLowerCase();
  const named = monthNames.findIndex((name) => name.slice(0, 3).toLowerCase() === monthName);
  const month = named >= 0 ? named : number("m", 1) - 1;
  const day = number("d", 1);
  const half = fields.get("p")?.toLowerCase();
  const hour = fields.has("I") ? (number("I", 12) % 12) + (half === "pm" ? 12 : 0) : number("H", 0);
  const ms = Math.floor(Number(`0.${fields.get("f") ?? "0"}`) * 1_000);
  const date = new Date(year, month, day, hour, number("M", 0), number("S", 0), ms);
  if (date.getMonth() !== month || date.getDate() !== day) return undefined;
  const zone = fields.get("z");
  if (zone === undefined) return date.getTime();
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? [];
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * (sign === "-" ? -1 : 1);
  return date.getTime() - (date.getTimezoneOffset() + offset) * 60_000;
}

/** Leaves unknown directives as they are. */
export function formatDate(epochMs: number, format: string): string {
  const date = new Date(epochMs);
  return expanded(format).replaceAll(/%(.)/g, (part, letter: string) => partOf(date, letter) ?? part);
}

function partOf(date: Date, letter: string): string | undefined {
  const two = (value: number) => String(value).padStart(2, "0");
  switch (letter) {
    case "Y":
      return String(date.getFullYear());
    case "y":
      return two(date.getFullYear() % 100);
    case "m":
      return two(date.getMonth() + 1);
    case "d":
      return two(date.getDate());
    case "H":
      return two(date.getHours());
    case "I":
      return two(date.getHours() % 12 || 12);
    case "M":
      return two(date.getMinutes());
    case "S":
      return two(date.getSeconds());
    case "f":
      return String(date.getMilliseconds() * 1_000).padStart(6, "0");
    case "p":
      return date.getHours() < 12 ? "AM" : "PM";
    case "A":
      return dayNames[date.getDay()];
    case "a":
      return dayNames[date.getDay()]?.slice(0, 3);
    case "B":
      return monthNames[date.getMonth()];
    case "b":
      return monthNames[date.getMonth()]?.slice(0, 3);
    case "%":
      return "%";
    default:
      return undefined;
  }
}
