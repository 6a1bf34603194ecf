/** Durations as operators write them: `90s`, `30m`, `2h`, `1d`, or a bare number of seconds. */

const secondsOf = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const pattern = /^(\d{1,9}(?:\.\d{1,3})?)\s*([smhd]?)$/;

/** The form of a duration, for error messages. */
export const durationForm = "a duration such as 90s, 30m, 2h or 1d";

/** @returns seconds; undefined for a text that is not a duration */
export function parseDuration(written: string): number | undefined {
  const [, count, unit = ""] = pattern.exec(written.trim()) ?? [];
  if (count === undefined) return undefined;
  return Number(count) * secondsOf[(unit || "s") as keyof typeof secondsOf];
}

/** Writes seconds in the two largest units: `1h 5m`. */
export function durationText(seconds: number): string {
  let left = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const unit of ["d", "h", "m", "s"] as const) {
    const count = Math.floor(left / secondsOf[unit]);
    left -= count * secondsOf[unit];
    if (count > 0 && parts.length < 2) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.length === 0 ? "0s" : parts.join(" ");
}
