/**
 * Converts the dates of `start_time` and `end_time` to job ids of that time. Accepts only forms with one meaning.
 * Times are UTC, as job ids are.
 */
import { SaltworksError } from "../../errors.ts";
import { readDate } from "../../python/dateutil.ts";
import { jidAt } from "../../wire/jid.ts";

const jobId = /^\d{20}$/;
const forms = "2026-11-20 15:33:00, 2026, Nov 20 15:33, Nov 20 2026 3pm, 11/20/2026, 20261120153300, 15:33";

/**
 * @returns the 20 digits of a job id of that moment. Without a time it is midnight; without a date, today
 * @throws SaltworksError FUNCTION_FAILED
 */
export function momentOf(text: string, nowMs: number): string {
  if (jobId.test(text.trim())) return text.trim();
  const moment = readDate(text, nowMs, { zone: "utc", leftOut: "refused" });
  if (moment !== undefined) return jidAt(moment.ms, moment.micros);
  throw new SaltworksError(
    "FUNCTION_FAILED",
    `${JSON.stringify(text)} is not a date with one meaning; dates with a meaning: ${forms}`,
  );
}
