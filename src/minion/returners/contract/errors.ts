/** Makers of the errors of returners. */
import { SaltworksError } from "../../../errors.ts";

/** A return that its destination did not take. */
export function returnerError(text: string, cause?: unknown): SaltworksError {
  return new SaltworksError("RETURNER_FAILED", text, {}, cause === undefined ? {} : { cause });
}

/** A returner that this minion does not have, or whose client library is missing. */
export function returnerUnavailable(name: string, why: string): SaltworksError {
  return new SaltworksError("RETURNER_UNAVAILABLE", why, { name });
}
