/** A connection with a name for tests, which `String(connection)` returns. */
import type { RequestConnection } from "../../../src/master/ports/request-connection.ts";

export function namedConnection(name: string, isProven = false): RequestConnection {
  return {
    number: name.charCodeAt(name.length - 1),
    address: "192.0.2.1",
    isProven,
    answeredMs: Number.NEGATIVE_INFINITY,
    toString: () => name,
  } as RequestConnection;
}
