/** Answers over connections whose bytes are not a request, or that have to end. */
import type { Socket } from "node:net";
import { apiRetryAfterSeconds } from "../../limits.ts";
import { type ApiErrorCode, apiErrorCodes } from "./error-codes.ts";

/** The answer to a request that Node could not read. */
export function answerUnreadable(error: Error & { readonly code?: string }, socket: Socket): void {
  // Without a handshake nothing can be sent, and the end of the connection would wait for it.
  const isWithoutTls = /^ERR_(?:TLS|SSL)_/.test(error.code ?? "");
  if (!socket.writable || socket.bytesWritten > 0 || isWithoutTls) {
    socket.destroy();
    return;
  }
  if (error.code === "HPE_HEADER_OVERFLOW") endWith(socket, "HEADER_TOO_LARGE", "Request Header Fields Too Large");
  else if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") endWith(socket, "REQUEST_SLOW", "Request Timeout");
  else endWith(socket, "REQUEST_UNREADABLE", "Bad Request");
}

/** The end of a connection that has to make room. Under TLS, or within an answer, it only closes. */
export function endForRoom(isTls: boolean): (socket: Socket) => void {
  return (socket) => {
    if (isTls || socket.bytesWritten > 0) socket.destroy();
    else endWith(socket, "API_FULL", "Service Unavailable", `Retry-After: ${apiRetryAfterSeconds}\r\n`);
  };
}

function endWith(socket: Socket, code: ApiErrorCode, phrase: string, header = ""): void {
  const { status } = apiErrorCodes[code];
  const body = JSON.stringify({ status, return: phrase, code });
  const head = `HTTP/1.1 ${status} ${phrase}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${header}Connection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}
