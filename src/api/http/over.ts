/**
 * Tells when an answer is over: written out, or its connection has ended. Node tells no end of an answer that waits behind another one of its
 * connection (pipelining), so that the connection's own end is watched, too.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** What each connection's open answers do at its end. One listener for each connection, however many answers it carries. */
const endings = new WeakMap<Socket, Set<() => void>>();

function endingsOf(socket: Socket): Set<() => void> {
  const known = endings.get(socket);
  if (known !== undefined) return known;
  const made = new Set<() => void>();
  endings.set(socket, made);
  socket.once("close", () => {
    for (const end of made) end();
  });
  return made;
}

/** Calls `listener` once, at once if the answer is over already. `socket` is that of the answer's request: an answer that waits has none. */
export function onceOver(socket: Socket, response: ServerResponse, listener: () => void): void {
  if (socket.closed || response.closed) {
    listener();
    return;
  }
  const own = endingsOf(socket);
  const end = () => {
    if (own.delete(end)) listener();
  };
  own.add(end);
  response.once("close", end);
}
