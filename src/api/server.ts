/** Composes the HTTP server: bounds, formats, errors and routes. */
import swagger from "@fastify/swagger";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { readOwnPackage } from "../config/host/program.ts";
import { networkMatcher } from "../config/options/networks.ts";
import {
  apiBodyBytesMax,
  apiHeaderBytesMax,
  apiHeadersTimeoutMs,
  apiIdleTimeoutMs,
  apiParameterBytesMax,
  apiRequestTimeoutMs,
} from "../limits.ts";
import { prefersPage } from "./http/accept.ts";
import { answerError, boundAnswer } from "./http/answer.ts";
import { originHeaders, preflightHeaders } from "./http/cross-origin.ts";
import { ApiError, notFound, toApiError } from "./http/errors.ts";
import { tlsOptions } from "./http/tls.ts";
import { answerUnreadable } from "./http/unreadable.ts";
import { commandRoutes } from "./routes/commands.ts";
import { dashboardRoutes } from "./routes/dashboard.ts";
import { documentRoutes } from "./routes/document.ts";
import { eventRoutes } from "./routes/events.ts";
import { fileRoutes } from "./routes/files.ts";
import { hookRoutes } from "./routes/hook.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { keyRoutes } from "./routes/keys.ts";
import { loginRoutes } from "./routes/login.ts";
import { readingRoutes } from "./routes/reading.ts";
import { resourceRoutes } from "./routes/resources.ts";
import { socketRoutes, upgradesOf } from "./routes/sockets.ts";
import { statsRoutes } from "./routes/stats.ts";
import { welcomeRoutes } from "./routes/welcome.ts";
import { documentOptions } from "./schemas/document.ts";
import { admitConnections, admitRequests } from "./sessions/admit.ts";
import type { Api } from "./sessions/context.ts";

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
    // Of a path that cannot be decoded, or is too long: before any route and hook.
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      void answerError(request, reply, toApiError(error)),
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
    const allowed = ["GET", "POST"].filter((method) => isRoute(path, method));
    // A path below a directory of files may name none, such as the directory itself.
    const isOther = !allowed.includes(request.method === "HEAD" ? "GET" : request.method);
    const error =
      allowed.length > 0 && isOther
        ? new ApiError("METHOD_UNKNOWN", "Specified method is invalid for this resource", { allow: allowed.join(", ") })
        : notFound(request.url);
    return await answerError(request, reply, error);
  };
}

function addHooks(app: FastifyInstance, api: Api): void {
  const { settings, counters } = api;
  const mayConnect = settings.authorizedIps.length === 0 ? () => true : networkMatcher(settings.authorizedIps);
  // Hooks that need not wait call back: a promise for each costs every request.
  app.addHook("onRequest", (request, reply, done) => {
    counters.requests += 1;
    reply.headers(originHeaders(settings.corsOrigins, request.headers.origin));
    if (settings.isExpiring) reply.header("cache-control", "no-store");
    if (!mayConnect(request.ip)) done(new ApiError("ADDRESS_REFUSED", "Bad IP"));
    else if (request.method === "OPTIONS") reply.code(204).headers(preflightHeaders).send();
    else done();
  });
  admitRequests(app, api);
  app.addHook("onSend", (request, reply, payload, done) => {
    boundAnswer(request.raw.socket);
    api.admission.answers.watch(request.raw.socket, reply.raw);
    done(null, payload);
  });
  app.setErrorHandler(async (error, request, reply) => {
    const known = api.report(error, request);
    const page = prefersPage(request.headers.accept) ? request.routeOptions.config.errorPage : undefined;
    return await (page === undefined ? answerError(request, reply, known) : page(reply, known));
  });
}

/**
 * Schemas of routes describe, and do nothing else. Bodies come in five formats, with Salt's own sentences for what is wrong, and answers are written
 * from values of other classes than plain objects: Fastify's own validators and serializers would change both, and cost CPU for each request.
 */
function describeRoutes(app: FastifyInstance, { settings }: Api): void {
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (value) => String(value));
  app.register(swagger, documentOptions(settings.rootPrefix, readOwnPackage().version));
}

/** The server, not listening yet. @throws SaltworksError CONFIG_INVALID */
export function buildServer(api: Api): FastifyInstance {
  const app = serverOf(api);
  admitConnections(app.server, api);
  const isRoute = noteRoutes(app);
  const upgrades = upgradesOf(app.server, api.settings.rootPrefix);
  addHooks(app, api);
  app.setNotFoundHandler(answerUnknown(isRoute));
  describeRoutes(app, api);
  app.options("/*", async (_request, reply) => await reply.code(204).send());
  app.register(
    async (routes) => {
      // The dashboard needs sessions, and gives way to another app.
      const hasDashboard = api.settings.hasSessions && api.settings.app === undefined;
      welcomeRoutes(routes, api, hasDashboard ? dashboardRoutes(routes) : undefined);
      fileRoutes(routes, api);
      documentRoutes(routes);
      eventRoutes(routes, api, api.streams);
      if (api.settings.hasSessions) loginRoutes(routes, api);
      commandRoutes(routes, api);
      resourceRoutes(routes, api);
      jobRoutes(routes, api);
      readingRoutes(routes, api);
      keyRoutes(routes, api);
      statsRoutes(routes, api);
      hookRoutes(routes, api);
      routes.register(async (sockets) => await socketRoutes(sockets, api, upgrades));
    },
    { prefix: api.settings.rootPrefix },
  );
  return app;
}
