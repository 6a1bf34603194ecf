/** Formats numbers for `saltworks top`: short, with their unit, and of a steady width where possible. */

const none = "-";

/** Formats like 1,234, 12.3 and 0.4. */
export function count(value: number): string {
  const digits = value > 0 && value < 99.95 && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let scaled = value;
  let unit = 0;
  for (; scaled >= 1_000 && unit < units.length - 1; unit += 1) scaled /= 1_000;
  return `${unit === 0 || scaled >= 99.5 ? Math.round(scaled) : scaled.toFixed(1)} ${units[unit]}`;
}

/** `null` means that nothing was observed. */
export function duration(seconds: number | null): string {
  if (seconds === null) return none;
  if (seconds === Number.POSITIVE_INFINITY) return "long";
  if (seconds >= 1) return `${round(seconds)} s`;
  return seconds >= 0.001 || seconds === 0 ? `${round(seconds * 1_000)} ms` : `${round(seconds * 1e6)} µs`;
}

export function microseconds(seconds: number | null): string {
  return seconds === null ? none : round(seconds * 1e6);
}

export function percent(share: number | null): string {
  return share === null || !Number.isFinite(share) ? none : `${Math.round(share * 100)}%`;
}

/** Formats like 3d 04:05:06. */
export function age(seconds: number): string {
  const whole = Math.floor(seconds);
  const days = Math.floor(whole / 86_400);
  const parts = [Math.floor(whole / 3_600) % 24, Math.floor(whole / 60) % 60, whole % 60];
  const clock = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return days === 0 ? clock : `${days}d ${clock}`;
}

function round(value: number): string {
  return value >= 99.95 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(2)));
}
