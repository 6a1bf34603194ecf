/** Where a request carries its session id: the header `X-Auth-Token`, else the cookie `session_id`. */
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyRequest } from "fastify";
import type { Session } from "./sessions.ts";

/** An empty header counts as absent. */
function idInHeader({ headers }: FastifyRequest): string | undefined {
  const header = headers["x-auth-token"];
  return typeof header === "string" && header !== "" ? header : undefined;
}

export function sessionIdOf(request: FastifyRequest): string | undefined {
  return idInHeader(request) ?? cookieOf(request, "session_id");
}

/** `host` as the header of that name has it, without the scheme's own port. */
function hostOf(scheme: string, host: string): string | undefined {
  return URL.canParse(`${scheme}//${host}`) ? new URL(`${scheme}//${host}`).host : undefined;
}

/**
 * Whether a browser sends the request for a page of another origin, which may not use the browser's cookie. Programs send no origin. A proxy may
 * have changed the host, so that the browser's own word counts, too: no page can write `Sec-Fetch-Site`.
 */
export function isForeignPage(headers: IncomingHttpHeaders, allowedOrigins: readonly string[]): boolean {
  const { origin, host } = headers;
  if (origin === undefined || allowedOrigins.includes(origin)) return false;
  if (headers["sec-fetch-site"] === "same-origin") return false;
  if (!URL.canParse(origin) || host === undefined) return true;
  const { protocol, host: own } = new URL(origin);
  return hostOf(protocol, host) !== own;
}

/** Whether a foreign page uses the cookie for more than reading. What it reads, the browser keeps from it. */
export function isForged(request: FastifyRequest, allowedOrigins: readonly string[]): boolean {
  if (request.method === "GET" || request.method === "HEAD") return false;
  return idInHeader(request) === undefined && isForeignPage(request.headers, allowedOrigins);
}

/** A cookie's value, without quotes around it. */
export function cookieOf(request: FastifyRequest, name: string): string | undefined {
  for (const part of (request.headers.cookie ?? "").split(";")) {
    const [own, value] = part.split("=");
    if (own?.trim() === name && value !== undefined) return value.trim().replace(/^"|"$/g, "");
  }
  return undefined;
}

/** Scripts of pages cannot read the cookie, and other sites cannot send it with a POST. For other hosts of the same site see `isForged`. */
export function sessionCookie(id: string, session: Pick<Session, "expire">, isSecure: boolean, nowMs: number): string {
  const seconds = Math.max(0, Math.floor(session.expire - nowMs / 1_000));
  const expires = new Date(session.expire * 1_000).toUTCString();
  const secure = isSecure ? "; Secure" : "";
  return `session_id=${id}; expires=${expires}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

export const clearedCookie =
  "session_id=; expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/; HttpOnly; SameSite=Lax";
