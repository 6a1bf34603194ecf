/** What all routes of the API share. */
import type { FastifyRequest, onRequestHookHandler } from "fastify";
import type { Logger } from "pino";
import type { Sender } from "../../client/credentials.ts";
import type { SharedConnections } from "../../client/master-client.ts";
import type { ApiSettings } from "../../config/api-settings.ts";
import type { MasterConfig } from "../../config/load.ts";
import type { BrowserLogin } from "../../openid/settings.ts";
import type { Encodable, Value } from "../../wire/values.ts";
import type { Bodies } from "../admission/bodies.ts";
import type { Connections } from "../admission/connections.ts";
import type { ExchangeSlots } from "../admission/exchange-slots.ts";
import type { RequestSlots } from "../admission/request-slots.ts";
import type { SharedCalls } from "../admission/shared-calls.ts";
import type { StreamSlots } from "../admission/stream-slots.ts";
import type { ApiTimes } from "../admission/times.ts";
import type { UnreadAnswers } from "../admission/unread-answers.ts";
import { readBody } from "../http/bodies.ts";
import { ApiError, noSessionText } from "../http/errors.ts";
import type { Report } from "../http/report.ts";
import type { EventStreams } from "../streams/event-streams.ts";
import { isForged, sessionIdOf } from "./carriers.ts";
import type { Senders } from "./senders.ts";
import type { Session, Sessions } from "./sessions.ts";

export type ApiCounters = { requests: number; errors: number };
/** What bounds clients. */
export type Admission = {
  readonly connections: Connections;
  readonly slots: RequestSlots;
  readonly streamSlots: StreamSlots;
  readonly bodies: Bodies;
  readonly exchanges: ExchangeSlots;
  readonly answers: UnreadAnswers;
};

export type Api = {
  readonly config: MasterConfig;
  readonly settings: ApiSettings;
  readonly log: Logger;
  readonly sessions: Sessions;
  readonly senders: Senders;
  /** Connections to the master that all callers share. */
  readonly shared: SharedConnections;
  readonly streams: EventStreams;
  readonly counters: ApiCounters;
  readonly report: Report;
  readonly wheelCalls: SharedCalls<Encodable>;
  readonly admission: Admission;
  readonly times: ApiTimes;
  readonly startedMs: number;
  /** The login at an OpenID provider in a browser; undefined where it is not configured. */
  readonly oidc: BrowserLogin | undefined;
};

type Identified = { readonly id: string; readonly session: Session };

declare module "fastify" {
  interface FastifyRequest {
    identified: Identified | undefined;
  }
}

/** Finds the session of a request, once. Undefined for a stranger, and for a page of another origin that sends more than a GET by cookie. */
export function identify(api: Api, request: FastifyRequest): Identified | undefined {
  const id = isForged(request, api.settings.corsOrigins) ? undefined : sessionIdOf(request);
  const session = id === undefined ? undefined : api.sessions.find(id);
  if (id === undefined || session === undefined) return undefined;
  const found = { id, session };
  request.identified = found;
  return found;
}

/** How bounds name a user: the same name of two eauth systems is two users. */
export function userOf({ eauth, user }: Pick<Session, "eauth" | "user">): string {
  return `${eauth} ${user}`;
}

/** The session of a request. @throws ApiError 401 */
export function sessionOf(_api: Api, request: FastifyRequest): Identified {
  const found = request.identified;
  if (found === undefined) throw new ApiError("SESSION_MISSING", noSessionText);
  return found;
}

export type SessionCaller = { readonly proof: { readonly token: string }; readonly sender: Sender };

/** What proves the user of a request's session to the master, and names the HTTP client. @throws ApiError 401, SaltworksError as `readSender` */
export async function callerOf(api: Api, request: FastifyRequest): Promise<SessionCaller> {
  const { token } = sessionOf(api, request).session;
  return { proof: { token }, sender: await api.senders.of(request.ip) };
}

/** Options of a route whose body is read only for a session. */
export function forSessions(api: Api): { readonly onRequest: onRequestHookHandler } {
  return {
    onRequest: (request, _reply, done) => {
      sessionOf(api, request);
      done();
    },
  };
}

/** @throws ApiError as `readBody` */
export function bodyOf(request: FastifyRequest): Value | undefined {
  const { body } = request;
  return readBody({ type: request.headers["content-type"], bytes: Buffer.isBuffer(body) ? body : undefined });
}
