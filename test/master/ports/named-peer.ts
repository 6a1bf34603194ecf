/** A connection with a name for tests, which `String(peer)` returns. */
import type { RequestPeer } from "../../../src/master/ports/request-peer.ts";

export function namedPeer(name: string, isProven = false): RequestPeer {
  return { number: name.charCodeAt(name.length - 1), isProven, toString: () => name } as RequestPeer;
}
