/** `GET /ws`: events of the master's bus as messages of a WebSocket, after the client's ready text and until the session ends. */

import { EventEmitter } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import websocket, { type WebSocket } from "@fastify/websocket";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { apiSocketMessageBytesMax, apiStreamUnreadBytesMax } from "../../limits.ts";
import { ApiError, busy } from "../http/errors.ts";
import { openSocketByTokenSchema, openSocketSchema } from "../schemas/events.ts";
import { proveConnection, releaseSlot, takeStreamSlot } from "../sessions/admit.ts";
import { isForeignPage } from "../sessions/carriers.ts";
import type { Api } from "../sessions/context.ts";
import { pingFrame } from "../streams/socket-frames.ts";
import { filterOf, permissionOf, type Query } from "./events.ts";

/** The texts of the protocol between Salt and its clients. */
const readyText = "websocket client ready";
const receivedText = "server received message";
/** Close code for a reader that may no longer read. */
const policyCode = 1008;

type Asked = { readonly Params: { readonly token?: string }; readonly Querystring: Query };
/** Found before the upgrade: afterwards no HTTP error can be answered. */
type Permission = { readonly isAllowed: () => boolean; readonly isWanted: ((tag: string) => boolean) | undefined };

/** Other pages may open sockets with a browser's cookie. @throws ApiError 403 */
function checkOrigin(api: Api, request: FastifyRequest<Asked>): void {
  const isByCookie =
    request.params.token === undefined && !("token" in request.query) && !request.headers["x-auth-token"];
  if (isByCookie && isForeignPage(request.headers, api.settings.corsOrigins))
    throw new ApiError("ORIGIN_REFUSED", "This origin may not use the API");
}

/** @throws ApiError 400, 401, 403, 429, 503 */
async function permissionFor(api: Api, request: FastifyRequest<Asked>, reply: FastifyReply): Promise<Permission> {
  checkOrigin(api, request);
  const { token } = request.params;
  const query = token === undefined ? request.query : { ...request.query, token };
  const { user, isAllowed } = await permissionOf(api, request, query);
  const isWanted = filterOf(request.query);
  if (!api.streams.isFull) {
    takeStreamSlot(api, reply, user);
    await api.streams.ready();
    return { isAllowed, isWanted };
  }
  api.streams.counters.refused += 1;
  throw busy("Too many streams are open");
}

function serve(api: Api, request: FastifyRequest<Asked>, socket: WebSocket, permission: Permission): void {
  const output = request.raw.socket;
  proveConnection(api, request);
  releaseSlot(request);
  let heardMs = performance.now();
  const start = api.streams.open({
    ...permission,
    form: "format_events" in request.query ? "digests" : "messages",
    output,
    end: () => socket.close(policyCode, "the session has ended"),
    ping: () => void output.write(pingFrame),
    // Clients answer each ping by themselves. A connection that is half open would stay for hours.
    isSilent: () => performance.now() - heardMs > api.times.socketSilentMs,
    lastId: undefined,
    isWaiting: true,
  });
  output.on("data", () => {
    heardMs = performance.now();
  });
  socket.on("message", (message: Buffer) => {
    if (message.toString() === readyText) start();
    if (output.writableLength > apiStreamUnreadBytesMax) output.destroy();
    else socket.send(receivedText);
  });
}

export async function socketRoutes(app: FastifyInstance, api: Api, upgrades: EventEmitter): Promise<void> {
  const options = { server: upgrades as Server, maxPayload: apiSocketMessageBytesMax };
  // A client that breaks the protocol loses its connection.
  await app.register(websocket, { options, errorHandler: (_error, socket) => socket.terminate() });
  const permissions = new WeakMap<IncomingMessage, Permission>();
  for (const [url, schema] of [
    ["/ws", openSocketSchema],
    ["/ws/:token", openSocketByTokenSchema],
  ] as const)
    app.route<Asked>({
      method: "GET",
      url,
      schema,
      preValidation: async (request, reply) =>
        void permissions.set(request.raw, await permissionFor(api, request, reply)),
      handler: async () => {
        throw new ApiError("SOCKET_ONLY", "This path speaks WebSocket only", { upgrade: "websocket" });
      },
      wsHandler: (socket, request) => {
        const permission = permissions.get(request.raw);
        if (permission === undefined) socket.terminate();
        else serve(api, request, socket, permission);
      },
    });
}

/**
 * Passes on the upgrades to WebSockets of `/ws`. Node would take every request that names a protocol to upgrade to, such as HTTP/2: those go on
 * as ordinary requests.
 */
export function upgradesOf(server: Server, rootPrefix: string): EventEmitter {
  const upgrades = new EventEmitter();
  server.on("upgrade", (request, socket, head) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    const isSocketPath = path === `${rootPrefix}/ws` || path.startsWith(`${rootPrefix}/ws/`);
    if (isSocketPath && request.headers.upgrade?.toLowerCase() === "websocket")
      upgrades.emit("upgrade", request, socket, head);
    else readAgain(server, request, socket as Socket, head);
  });
  return upgrades;
}

const ofUpgrade: ReadonlySet<string> = new Set(["upgrade", "connection", "http2-settings"]);

/** Gives the server the same request without its wish to upgrade. */
function readAgain(
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Socket,
  head: Buffer,
) {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (!ofUpgrade.has(rawHeaders[index]?.toLowerCase() ?? ""))
      text += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`;
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, "latin1"), head]));
  // A connection under TLS has made its handshake.
  server.emit(socket instanceof TLSSocket ? "secureConnection" : "connection", socket);
}
