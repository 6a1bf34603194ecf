/** What all routes of the API share. */
import type { FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { SharedConnections } from "../../client/master-client.ts";
import type { ApiSettings } from "../../config/api-settings.ts";
import type { MasterConfig } from "../../config/load.ts";
import type { Value } from "../../wire/values.ts";
import { readBody } from "../http/bodies.ts";
import { ApiError, noSessionText } from "../http/errors.ts";
import type { EventStreams } from "../streams/event-streams.ts";
import { sessionIdOf } from "./carriers.ts";
import type { Session, Sessions } from "./sessions.ts";

export type ApiCounters = { requests: number; refused: number; errors: number; underWay: number };

export type Api = {
  readonly config: MasterConfig;
  readonly settings: ApiSettings;
  readonly log: Logger;
  readonly sessions: Sessions;
  /** Connections to the master that all callers share. */
  readonly shared: SharedConnections;
  readonly streams: EventStreams;
  readonly counters: ApiCounters;
  readonly startedMs: number;
};

/** The session of a request. @throws ApiError 401 */
export function sessionOf(api: Api, request: FastifyRequest): { readonly id: string; readonly session: Session } {
  const id = sessionIdOf(request);
  const session = id === undefined ? undefined : api.sessions.find(id);
  if (id === undefined || session === undefined) throw new ApiError(401, noSessionText);
  return { id, session };
}

/** What proves the user of a request's session to the master. @throws ApiError 401 */
export function proofOf(api: Api, request: FastifyRequest): { readonly token: string } {
  return { token: sessionOf(api, request).session.token };
}

/** Options of a route whose body is read only for a session. */
export function forSessions(api: Api): { readonly onRequest: (request: FastifyRequest) => Promise<void> } {
  return { onRequest: async (request) => void sessionOf(api, request) };
}

/** @throws ApiError as `readBody` */
export function bodyOf(request: FastifyRequest): Value | undefined {
  const { body } = request;
  return readBody({ type: request.headers["content-type"], bytes: Buffer.isBuffer(body) ? body : undefined });
}
