/** Admits connections and requests: finds out who asks, and holds each to its bounds. A request gives back what it took when it is over. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  apiConnectionsMax,
  apiDescriptorsSpare,
  apiHeadersMax,
  apiKeepalive,
  apiStrangerConnectionsMax,
} from "../../limits.ts";
import { AcceptedKeepalive } from "../../transport/zmtp/accepted-keepalive.ts";
import { addressKey } from "../../transport/zmtp/address.ts";
import { Bodies } from "../admission/bodies.ts";
import { Connections } from "../admission/connections.ts";
import { ExchangeSlots } from "../admission/exchange-slots.ts";
import { type Asker, RequestSlots } from "../admission/request-slots.ts";
import { StreamSlots } from "../admission/stream-slots.ts";
import { UnreadAnswers } from "../admission/unread-answers.ts";
import { onceOver } from "../http/over.ts";
import { endForRoom } from "../http/unreadable.ts";
import { type Admission, type Api, identify, userOf } from "./context.ts";

/** `openFiles`: the most descriptors of this process. */
export function openAdmission(isTls: boolean, openFiles: number): Admission {
  const room = Math.max(1, openFiles - apiDescriptorsSpare);
  const all = Math.min(apiConnectionsMax, room);
  const bounds = { all, strangers: Math.min(apiStrangerConnectionsMax, Math.ceil(all / 2)) };
  const connections = new Connections(endForRoom(isTls), bounds);
  return {
    connections,
    slots: new RequestSlots(),
    streamSlots: new StreamSlots(),
    bodies: new Bodies(),
    exchanges: new ExchangeSlots(),
    answers: new UnreadAnswers(),
  };
}

type Entry = { readonly asker: Asker; readonly body: ReturnType<Bodies["open"]>; isOver: boolean; release: () => void };

declare module "fastify" {
  interface FastifyRequest {
    /** What the request has taken. A property, because a weak map of requests costs each collection of garbage. */
    admitted: Entry | undefined;
  }
}

/** A stream does not count as a request under way, which it would do for hours. */
export function releaseSlot(request: FastifyRequest): void {
  request.admitted?.release();
}

/** Takes a place among the streams of its user until the request is over. @throws ApiError 429 */
export function takeStreamSlot(api: Api, { request, raw }: FastifyReply, user: string): void {
  onceOver(request.raw.socket, raw, api.admission.streamSlots.take(user));
}

/** For a client that proves itself by other means than a session in a header. */
export function proveConnection(api: Api, request: FastifyRequest): void {
  api.admission.connections.prove(request.raw.socket);
}

export function admitConnections(server: Server, { admission: { connections } }: Api): void {
  server.maxHeadersCount = apiHeadersMax;
  server.on("connection", (socket: Socket) => connections.accept(socket));
  // Of an answer that its client does not take, or of a connection that waits for the next request.
  server.on("timeout", (socket: Socket) => {
    if (socket.writableLength > 0) connections.counters.unread += 1;
    socket.destroy();
  });
}

/** Lets the system end connections whose other end is gone, or reads nothing: it alone knows what of the sent bytes has arrived. */
export async function admitLiving(server: Server, { admission: { connections }, settings, times }: Api): Promise<void> {
  const keepalive = await AcceptedKeepalive.load({ ...apiKeepalive, unacknowledgedMs: times.unreadMs });
  server.on("listening", () => keepalive.listens(server));
  server.on("connection", (socket: Socket) => keepalive.accepts(socket));
  const count = (socket: Socket) =>
    socket.once("error", ({ code }: NodeJS.ErrnoException) => {
      if (code === "ETIMEDOUT") connections.counters.timedOut += 1;
    });
  // Under TLS the errors of a connection are those of its TLSSocket.
  server.on(settings.tls !== undefined ? "secureConnection" : "connection", count);
}

function begin(api: Api, request: FastifyRequest, response: ServerResponse): void {
  const { connections, bodies } = api.admission;
  const session = identify(api, request)?.session;
  if (session !== undefined) connections.prove(request.raw.socket);
  const isStranger = session === undefined;
  const name = isStranger ? addressKey(request.ip) : userOf(session);
  const asker = { isStranger, name };
  const entry: Entry = { asker, body: bodies.open(isStranger), isOver: false, release: () => undefined };
  request.admitted = entry;
  onceOver(request.raw.socket, response, () => {
    // Node leaves an answer that waits behind another one as it is. Streams look at this.
    response.destroy();
    entry.isOver = true;
    entry.release();
    bodies.release(entry.body);
  });
}

function isJsonBody(request: FastifyRequest): boolean {
  return /^\s*(?:application\/json|text\/plain)\b/i.test(request.headers["content-type"] ?? "");
}

/** Hooks and the reader of bodies. A request counts as under way from the end of its body on: slow bodies keep no places. */
export function admitRequests(app: FastifyInstance, api: Api): void {
  const { bodies, slots } = api.admission;
  app.decorateRequest("admitted", undefined);
  app.decorateRequest("identified", undefined);
  app.addHook("onRequest", (request, reply, done) => {
    begin(api, request, reply.raw);
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", async (request: FastifyRequest, payload: NodeJS.ReadableStream) => {
    const entry = request.admitted;
    if (entry === undefined) throw new TypeError("a body without a request");
    const announced = Number(request.headers["content-length"] ?? 0);
    const most = request.routeOptions.bodyLimit ?? app.initialConfig.bodyLimit ?? 0;
    return await bodies.read(payload as never, entry.body, announced, most);
  });
  app.addHook("preValidation", (request, _reply, done) => {
    const entry = request.admitted;
    if (entry === undefined) return done();
    entry.release = slots.take(entry.asker);
    if (entry.isOver) entry.release();
    if (!entry.asker.isStranger || entry.body.bytes === 0) return done();
    bodies.turn(entry.body.bytes, isJsonBody(request)).then(() => done(), done);
  });
}
