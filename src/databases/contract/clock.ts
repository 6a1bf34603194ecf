/** Compares a database's clock with the master's: a clock that is ahead would make new rows look old. */
import { SaltworksError } from "../../errors.ts";
import { databaseClockMsMax } from "../../limits.ts";

/** @throws SaltworksError DATABASE_FAILED if rows cannot be removed by their age */
export function checkClock(place: string, databaseMs: number, nowMs = Date.now()): void {
  const apartMs = Math.abs(databaseMs - nowMs);
  if (apartMs <= databaseClockMsMax) return;
  throw new SaltworksError(
    "DATABASE_FAILED",
    `${place}: its clock and the master's are ${Math.round(apartMs / 60_000)} minutes apart, so no row is removed for its age`,
    { reason: "clock" },
  );
}
