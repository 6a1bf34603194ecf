/** A connection that tests tell by its name: `String(peer)` gives it back. */
import type { RequestPeer } from "../../../src/master/ports/request-peer.ts";

export function namedPeer(name: string, isProven = false): RequestPeer {
  return { number: name.charCodeAt(name.length - 1), isProven, toString: () => name } as RequestPeer;
}
