/** Where a request carries its session id: the header `X-Auth-Token`, else the cookie `session_id`. */
import type { FastifyRequest } from "fastify";
import type { Session } from "./sessions.ts";

/** An empty header counts as absent. */
export function sessionIdOf(request: FastifyRequest): string | undefined {
  const header = request.headers["x-auth-token"];
  if (typeof header === "string" && header !== "") return header;
  for (const part of (request.headers.cookie ?? "").split(";")) {
    const [name, value] = part.split("=");
    if (name?.trim() === "session_id" && value !== undefined) return value.trim().replace(/^"|"$/g, "");
  }
  return undefined;
}

/** Scripts of pages cannot read the cookie, and other sites cannot send it with a POST. */
export function sessionCookie(id: string, session: Pick<Session, "expire">, isSecure: boolean, nowMs: number): string {
  const seconds = Math.max(0, Math.floor(session.expire - nowMs / 1_000));
  const expires = new Date(session.expire * 1_000).toUTCString();
  const secure = isSecure ? "; Secure" : "";
  return `session_id=${id}; expires=${expires}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${secure}`;
}

export const clearedCookie =
  "session_id=; expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/; HttpOnly; SameSite=Lax";
