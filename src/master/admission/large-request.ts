/** Decides from the first bytes of a huge request on an unproven connection whether the rest is worth reading. */
import { SaltworksError } from "../../errors.ts";
import { envelopeMembersMax, headValuesMax, loadMembersMax } from "../../limits.ts";
import { headOf, keyOf, skipWithin, textOf } from "../../wire/walk.ts";
import { isOperatorCommand } from "../../workers/requests/operator-refusal.ts";

/**
 * @param start the first bytes of the request, received so far
 * @returns false for a request that workers refuse: neither sealed nor an operator's command, or with too many members
 */
export function mayBeLarge(start: Uint8Array): boolean {
  try {
    const { kind, count, start: first } = headOf(start, 0);
    if (kind !== "map" || count > envelopeMembersMax) return false;
    return isWorthReading(start, first, count);
  } catch (error) {
    // The deciding part has not come yet: a worker decides later.
    if (error instanceof SaltworksError) return error.code === "WIRE_TRUNCATED";
    throw error;
  }
}

/** @throws SaltworksError WIRE_TRUNCATED if the bytes so far do not decide */
function isWorthReading(bytes: Uint8Array, first: number, count: number): boolean {
  let position = first;
  for (let left = count; left > 0; left -= 1) {
    const keyEnd = skipWithin(bytes, position, headValuesMax);
    const key = keyOf(bytes, position, keyEnd);
    if (key === "load" && keyEnd < bytes.length) {
      const { kind } = headOf(bytes, keyEnd);
      if (kind === "text" || kind === "bytes") return true;
      return kind === "map" && mayBeOperators(bytes, keyEnd);
    }
    position = skipWithin(bytes, keyEnd, headValuesMax);
  }
  return false;
}

/** @throws SaltworksError WIRE_TRUNCATED, as `isWorthReading` */
function mayBeOperators(bytes: Uint8Array, offset: number): boolean {
  const { count, start } = headOf(bytes, offset);
  if (count > loadMembersMax) return false;
  let position = start;
  for (let left = count; left > 0; left -= 1) {
    const keyEnd = skipWithin(bytes, position, headValuesMax);
    const valueEnd = skipWithin(bytes, keyEnd, headValuesMax);
    if (keyOf(bytes, position, keyEnd) === "cmd") return isOperatorCommand(textOf(bytes, keyEnd, valueEnd));
    position = valueEnd;
  }
  return false;
}
