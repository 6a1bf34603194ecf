/** Composes the HTTP server: bounds, formats, errors and routes. */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { ApiTls } from "../config/api-settings.ts";
import { networkMatcher } from "../config/options/networks.ts";
import { SaltworksError } from "../errors.ts";
import {
  apiBodyBytesMax,
  apiConnectionsMax,
  apiHeaderBytesMax,
  apiHeadersMax,
  apiHeadersTimeoutMs,
  apiIdleTimeoutMs,
  apiParameterBytesMax,
  apiRequestsMax,
  apiRequestTimeoutMs,
  apiRetryAfterSeconds,
} from "../limits.ts";
import { answerError } from "./http/answer.ts";
import { originHeaders, preflightHeaders } from "./http/cross-origin.ts";
import { ApiError, busy, notFound, toApiError } from "./http/errors.ts";
import { commandRoutes } from "./routes/commands.ts";
import { eventRoutes } from "./routes/events.ts";
import { fileRoutes } from "./routes/files.ts";
import { hookRoutes } from "./routes/hook.ts";
import { loginRoutes } from "./routes/login.ts";
import { resourceRoutes } from "./routes/resources.ts";
import { statsRoutes } from "./routes/stats.ts";
import { unbuiltRoutes } from "./routes/unbuilt.ts";
import { welcomeRoutes } from "./routes/welcome.ts";
import type { Api } from "./sessions/context.ts";

/** @throws SaltworksError CONFIG_INVALID if a file of TLS cannot be read */
function tlsOptions({ certificate, key, chain }: ApiTls): { readonly cert: string; readonly key: string } {
  try {
    const own = readFileSync(certificate, "utf8");
    const cert = chain === undefined ? own : `${own}\n${readFileSync(chain, "utf8")}`;
    return { cert, key: readFileSync(key, "utf8") };
  } catch (error) {
    const { message } = error as Error;
    throw new SaltworksError("CONFIG_INVALID", `rest_cherrypy: ${message}`, {}, { cause: error });
  }
}

/** The answer to a request that Node could not read. */
function answerUnreadable(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) {
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

function endWith(socket: Socket, status: number, phrase: string, header = ""): void {
  const body = JSON.stringify({ status, return: phrase });
  const head = `HTTP/1.1 ${status} ${phrase}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${header}Connection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}

function boundConnections(server: Server, api: Api): void {
  let open = 0;
  server.maxHeadersCount = apiHeadersMax;
  server.on("connection", (socket: Socket) => {
    open += 1;
    socket.once("close", () => {
      open -= 1;
    });
    if (open <= apiConnectionsMax) return;
    api.counters.refused += 1;
    if (api.settings.tls !== undefined) socket.destroy();
    else endWith(socket, 503, "Service Unavailable", `Retry-After: ${apiRetryAfterSeconds}\r\n`);
  });
}

function serverOf({ settings }: Api): FastifyInstance {
  const times = { headersTimeout: apiHeadersTimeoutMs, connectionsCheckingInterval: 1_000 };
  const http = { maxHeaderSize: apiHeaderBytesMax, ...times };
  return fastify({
    ...(settings.tls === undefined ? { http } : { https: { ...http, ...tlsOptions(settings.tls) } }),
    bodyLimit: settings.bodyBytesMax ?? apiBodyBytesMax,
    requestTimeout: apiRequestTimeoutMs,
    keepAliveTimeout: apiIdleTimeoutMs,
    forceCloseConnections: true,
    // Addresses of requests may hold a token; our own log does without them.
    logger: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: apiParameterBytesMax },
    clientErrorHandler: answerUnreadable,
  } as object) as unknown as FastifyInstance;
}

/** @returns whether a path exists with a method */
function noteRoutes(app: FastifyInstance): (path: string, method: string) => boolean {
  const routes: { readonly method: string; readonly pattern: RegExp }[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    const source = url
      .replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&")
      .replaceAll(/:\w+/g, "[^/]+")
      .replaceAll("*", ".*");
    for (const name of [method].flat()) routes.push({ method: name, pattern: new RegExp(`^${source}/?$`) });
  });
  return (path, method) => routes.some((route) => route.method === method && route.pattern.test(path));
}

/** Paths that exist with another method are answered with 405. */
function answerUnknown(isRoute: (path: string, method: string) => boolean) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split("?")[0] ?? "";
    const other = request.method === "GET" || request.method === "HEAD" ? "POST" : "GET";
    const error = isRoute(path, other)
      ? new ApiError(405, "Specified method is invalid for this resource", { allow: other })
      : notFound(request.url);
    return await answerError(request, reply, error);
  };
}

function addHooks(app: FastifyInstance, api: Api): void {
  const { settings, counters, log } = api;
  const mayConnect = settings.authorizedIps.length === 0 ? () => true : networkMatcher(settings.authorizedIps);
  app.addHook("onRequest", async (request, reply) => {
    counters.requests += 1;
    counters.underWay += 1;
    // Also for a client that went away, and for a stream, which fastify does not end.
    reply.raw.once("close", () => {
      counters.underWay -= 1;
    });
    reply.headers(originHeaders(settings.corsOrigins, request.headers.origin));
    if (settings.isExpiring) reply.header("cache-control", "no-store");
    if (!mayConnect(request.ip)) throw new ApiError(403, "Bad IP");
    if (request.method === "OPTIONS") return await reply.code(204).headers(preflightHeaders).send();
    if (counters.underWay > apiRequestsMax) {
      counters.refused += 1;
      throw busy("Too many requests are under way");
    }
  });
  app.setErrorHandler(async (error, request, reply) => {
    const known = toApiError(error);
    if (known.status >= 500) {
      counters.errors += 1;
      const route = request.routeOptions.url ?? "unknown";
      log.error({ err: error, route, method: request.method }, "a request failed");
    }
    return await answerError(request, reply, known);
  });
}

/** The server, not listening yet. @throws SaltworksError CONFIG_INVALID */
export function buildServer(api: Api): FastifyInstance {
  const app = serverOf(api);
  boundConnections(app.server, api);
  const isRoute = noteRoutes(app);
  addHooks(app, api);
  // Routes read bodies after they know that the client may send one, and in formats that have no parser here.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "*",
    { parseAs: "buffer" },
    (_request: unknown, body: unknown, done: (error: null, body: unknown) => void) => done(null, body),
  );
  app.setNotFoundHandler(answerUnknown(isRoute));
  app.options("/*", async (_request, reply) => await reply.code(204).send());
  app.register(
    async (routes) => {
      welcomeRoutes(routes, api);
      fileRoutes(routes, api);
      eventRoutes(routes, api, api.streams);
      if (api.settings.hasSessions) loginRoutes(routes, api);
      commandRoutes(routes, api);
      resourceRoutes(routes, api);
      statsRoutes(routes, api);
      hookRoutes(routes, api);
      unbuiltRoutes(routes);
    },
    { prefix: api.settings.rootPrefix },
  );
  return app;
}
