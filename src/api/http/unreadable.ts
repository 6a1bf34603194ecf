/** Answers over connections whose bytes are not a request, or that have to end. */
import type { Socket } from "node:net";
import { apiRetryAfterSeconds } from "../../limits.ts";

/** The answer to a request that Node could not read. */
export function answerUnreadable(error: Error & { readonly code?: string }, socket: Socket): void {
  // Without a handshake nothing can be sent, and the end of the connection would wait for it.
  const isWithoutTls = /^ERR_(?:TLS|SSL)_/.test(error.code ?? "");
  if (!socket.writable || socket.bytesWritten > 0 || isWithoutTls) {
    socket.destroy();
    return;
  }
  const [status, phrase] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? [431, "Request Header Fields Too Large"]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? [408, "Request Timeout"]
        : [400, "Bad Request"];
  endWith(socket, status, phrase);
}

/** The end of a connection that has to make room. Under TLS, or within an answer, it only closes. */
export function endForRoom(isTls: boolean): (socket: Socket) => void {
  return (socket) => {
    if (isTls || socket.bytesWritten > 0) socket.destroy();
    else endWith(socket, 503, "Service Unavailable", `Retry-After: ${apiRetryAfterSeconds}\r\n`);
  };
}

function endWith(socket: Socket, status: number, phrase: string, header = ""): void {
  const body = JSON.stringify({ status, return: phrase });
  const head = `HTTP/1.1 ${status} ${phrase}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${header}Connection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}
