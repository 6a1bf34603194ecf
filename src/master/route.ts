/**
 * What the main thread reads of a request frame to find its worker: whose it is, and whether it asks for authentication.
 * It steps over strings by their lengths and never walks a large value: its time is everybody's.
 */
import { authFrameBytesMax } from "../limits.ts";
import { clearLoadHead } from "../wire/request.ts";
import { headOf, keyOf, mapHead, skipWhole, textOf } from "../wire/walk.ts";

/** `id`: of the sealed request's outside, or of a clear `_auth`; undefined where any worker will do. `pub`: the key of an `_auth`, encoded. */
export type Route =
  | { readonly isAuth: false; readonly id: string | undefined }
  | { readonly isAuth: true; readonly id: string; readonly pub: Uint8Array | undefined };

const anyWorker: Route = { id: undefined, isAuth: false };
/** Version 3 carries the id outside of the seal. */
const versionWithId = 3;
/** Salt sends six members; a worker refuses or ignores what comes behind. */
const membersMax = 16;

/** @throws SaltworksError WIRE_MALFORMED, WIRE_TRUNCATED, WIRE_TOO_DEEP */
export function readRoute(frame: Uint8Array): Route {
  const { count, start } = mapHead(frame, 0);
  let position = start;
  let isSealed = false;
  let version = 0;
  let id: string | undefined;
  let clearLoad: Uint8Array | undefined;
  for (let left = Math.min(count, membersMax); left > 0; left -= 1) {
    const keyEnd = stepOver(frame, position);
    const valueEnd = keyEnd < 0 ? -1 : stepOver(frame, keyEnd);
    if (valueEnd < 0) return anyWorker;
    switch (keyOf(frame, position, keyEnd)) {
      case "enc":
        isSealed = textOf(frame, keyEnd, valueEnd) === "aes";
        break;
      case "version":
        version = frame[keyEnd] ?? 0;
        break;
      case "id":
        id = textOf(frame, keyEnd, valueEnd);
        break;
      case "load":
        if (headOf(frame, keyEnd).kind === "map") clearLoad = frame.subarray(keyEnd, valueEnd);
        break;
    }
    position = valueEnd;
  }
  if (isSealed) return version >= versionWithId ? { id, isAuth: false } : anyWorker;
  const head = clearLoad && clearLoadHead(clearLoad);
  return head?.cmd === "_auth" ? { id: head.id ?? "", isAuth: true, pub: head.pub } : anyWorker;
}

/** Where the value at `offset` ends; -1 if finding out would take a walk through too much. */
function stepOver(frame: Uint8Array, offset: number): number {
  const { kind, count, start } = headOf(frame, offset);
  if (kind !== "text" && kind !== "bytes") {
    const isLarge = (kind === "map" || kind === "list") && frame.byteLength > authFrameBytesMax;
    return isLarge ? -1 : skipWhole(frame, offset);
  }
  return start + count <= frame.byteLength ? start + count : skipWhole(frame, offset);
}
