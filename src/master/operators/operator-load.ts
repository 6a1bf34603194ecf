/** Decodes the load of an operator's publish or call. The caller is known by then; what it may do depends on the load. */
import { SaltworksError } from "../../errors.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { Identity } from "./authorisation.ts";

/**
 * The load's fields, or why it is refused. All clients wait while the main thread decodes, so a restricted user gets the bounds of a minion's request.
 *
 * @throws SaltworksError as `decode`, except WIRE_TOO_LARGE
 */
export function fieldsOfLoad(load: Uint8Array, { grants }: Pick<Identity, "grants">): ValueMap | string {
  try {
    return decode(load, "text", grants === undefined ? new DecodeBudget() : DecodeBudget.ofRequest()) as ValueMap;
  } catch (error) {
    if (!(error instanceof SaltworksError) || error.code !== "WIRE_TOO_LARGE") throw error;
    return `the request holds ${error.message}`;
  }
}
