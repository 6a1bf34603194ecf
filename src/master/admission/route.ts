/**
 * Reads the id, the command and the credentials of a request frame. By them the main thread chooses the frame's worker and its turn.
 * It steps over strings by their lengths and never walks through many values, because all clients wait for the main thread.
 */
import { SaltworksError } from "../../errors.ts";
import { envelopeMembersMax, headValuesMax, loadMembersMax } from "../../limits.ts";
import { type ClearHead, readClearHead } from "../../wire/request.ts";
import { headOf, keyOf, mapHead, skipWithin, textOf } from "../../wire/walk.ts";

/**
 * `sealed`: an encrypted load; `id` is undefined for an older release, which encrypts it. `clear`: a plain load; `head` is undefined if reading it
 * would take too long. `overfull`: a clear load with more than `loadMembersMax` members, refused without a worker. `auth`: a clear `_auth`; `pub` is
 * its key, encoded. `unreadable`: a worker answers it.
 */
export type Route =
  | { readonly kind: "sealed"; readonly id: string | undefined }
  | { readonly kind: "auth"; readonly id: string; readonly pub: Uint8Array | undefined }
  | { readonly kind: "clear"; readonly head: ClearHead | undefined }
  | { readonly kind: "overfull" }
  | { readonly kind: "unreadable" };

const unreadable: Route = { kind: "unreadable" };
const overfull: Route = { kind: "overfull" };
const unreadClear: Route = { kind: "clear", head: undefined };
/** From this protocol version on the id stands beside the encrypted load. */
const versionWithId = 3;

/** As `readRoute`, but without throwing: an unreadable frame goes to any worker, which answers it. */
export function routeOf(frame: Uint8Array): Route {
  try {
    return readRoute(frame);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return unreadable;
  }
}

/** @throws SaltworksError WIRE_MALFORMED, WIRE_TRUNCATED, WIRE_TOO_DEEP */
export function readRoute(frame: Uint8Array): Route {
  const { count, start } = mapHead(frame, 0);
  // A worker refuses it by its header, too.
  if (count > envelopeMembersMax) return unreadable;
  let position = start;
  let isSealed = false;
  let version = 0;
  let id: string | undefined;
  let head: ClearHead | undefined;
  for (let left = count; left > 0; left -= 1) {
    const keyEnd = skipWithin(frame, position, headValuesMax);
    if (keyEnd < 0) return unreadable;
    const key = keyOf(frame, position, keyEnd);
    const value = headOf(frame, keyEnd);
    if (key === "load" && value.kind === "map") {
      if (value.count > loadMembersMax) return overfull;
      const read = readClearHead(frame, keyEnd);
      // Sealed loads are strings, so this one is clear.
      if (read === undefined) return unreadClear;
      head = read.head;
      position = read.end;
      continue;
    }
    const valueEnd = skipWithin(frame, keyEnd, headValuesMax);
    if (valueEnd < 0) return unreadable;
    if (key === "enc") isSealed = textOf(frame, keyEnd, valueEnd) === "aes";
    else if (key === "version") version = frame[keyEnd] ?? 0;
    else if (key === "id") id = textOf(frame, keyEnd, valueEnd);
    position = valueEnd;
  }
  if (isSealed) return { kind: "sealed", id: version >= versionWithId ? id : undefined };
  if (head?.cmd === "_auth") return { kind: "auth", id: head.id ?? "", pub: head.pub };
  return head === undefined ? unreadable : { kind: "clear", head };
}
