/** The current time, and times in Salt's forms: event stamps, job ids, start messages. */
import { jidAt } from "../../wire/jid.ts";

/** A time: whole milliseconds since 1970, and the microseconds beyond them. */
export type Moment = { readonly epochMs: number; readonly micros: number };

/** A difference above 20 ms means that the system clock was set after this process started. `performance.now()` does not follow such a change. */
const setMsMin = 20;
const readingsMax = 5;
let originMs = performance.timeOrigin;

/** The current time in microseconds; follows the system clock within `setMsMin`. */
export function now(): Moment {
  for (let reading = 0; reading < readingsMax; reading += 1) {
    const beforeMs = performance.now();
    const setByMs = Date.now() - (originMs + beforeMs);
    if (Math.abs(setByMs) <= setMsMin) break;
    // The process paused between the two readings, which makes their difference useless: reads again.
    if (performance.now() - beforeMs > setMsMin / 4) continue;
    originMs += setByMs;
    break;
  }
  const fine = originMs + performance.now();
  const epochMs = Math.floor(fine);
  return { epochMs, micros: Math.floor((fine - epochMs) * 1_000) };
}

/** `2026-11-20T15:38:02.598177`, in UTC. */
export function stampText({ epochMs, micros }: Moment): string {
  return `${new Date(epochMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}`;
}

export function jidText({ epochMs, micros }: Moment): string {
  return jidAt(epochMs, micros);
}

const dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** C's `asctime`: `Fri Nov 20 15:55:26 2026`, in local time. */
export function asctime(date: Date): string {
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0"));
  const day = String(date.getDate()).padStart(2, " ");
  return `${dayNames[date.getDay()]} ${monthNames[date.getMonth()]} ${day} ${clock.join(":")} ${date.getFullYear()}`;
}
