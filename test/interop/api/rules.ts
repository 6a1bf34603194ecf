/** Differences from Salt that many exchanges have: what is expected of us instead of the recorded answer. */
import type { Exchange } from "./recorded.ts";
import type { Answer } from "./replay-fleet.ts";

/** By its name here: words of its sentence in docs/http-api.md, "Differences from Salt". */
export const rules = {
  jsonErrors: "Errors are JSON or YAML",
  cookies: "Only a login sets a cookie",
  origins: "no origin is allowed unless `cors_origin` names it",
  caches: "Answers tell caches not to keep them",
} as const;
export type RuleName = keyof typeof rules;

export type Expected = {
  status: number;
  readonly reason: string | undefined;
  readonly headers: Record<string, string | undefined>;
  body: unknown;
};

export type ErrorBody = { readonly status: number; readonly return: unknown; readonly code?: unknown };

export function isErrorBody(body: unknown): body is ErrorBody {
  if (typeof body !== "object" || body === null) return false;
  return "return" in body && "status" in body && Number(body.status) >= 400;
}

/** An error as Salt's JSON has it. Salt has no code. */
export function withoutCode(body: unknown): unknown {
  if (!isErrorBody(body)) return body;
  const { code: _code, ...rest } = body;
  return rest;
}

function messageIn(body: unknown): string | undefined {
  const page = (body as { _html_error_page?: { message: string } } | null)?._html_error_page;
  return page?.message;
}

function isOneOf(value: string | undefined, ...texts: readonly string[]): boolean {
  return value !== undefined && texts.includes(value);
}

/** What we are to answer, and the rules that say so. */
export function withRules({ request, response }: Exchange, answer: Answer) {
  const used = new Set<RuleName>();
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of response.headers) headers[name.toLowerCase()] = headerForm(name.toLowerCase(), value);
  const expected: Expected = { status: response.status, reason: response.reason, headers, body: response.body };
  const message = messageIn(response.body) ?? (isPage(response.body) ? "" : undefined);
  if (message !== undefined) {
    used.add("jsonErrors");
    const accept = request.headers.Accept ?? request.headers.accept;
    headers["content-type"] = accept === "application/x-yaml" ? accept : "application/json";
    expected.body = { status: response.status, return: message };
    // Pages were recorded by their size only.
    if (message === "" && answer.status === response.status) expected.body = withoutCode(JSON.parse(answer.text));
  }
  if (headers["set-cookie"] !== undefined && headers["x-auth-token"] === undefined) {
    used.add("cookies");
    headers["set-cookie"] = request.path === "/logout" && answer.status === 200 ? "session_id=" : undefined;
  }
  if (headers["access-control-allow-origin"] !== undefined) {
    used.add("origins");
    headers["access-control-allow-origin"] = undefined;
  }
  const now = answer.headers["cache-control"];
  if (headers["cache-control"] !== now && isOneOf(now, "no-store", "no-cache", "private")) {
    used.add("caches");
    headers["cache-control"] = now;
  }
  return { expected, rules: used };
}

/** An error of which only the size was recorded. */
function isPage(body: unknown): boolean {
  return typeof body === "object" && body !== null && "_text_bytes" in body;
}

/** Values that no two servers share. */
export function headerForm(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (name === "x-auth-token") return "<session>";
  if (name === "set-cookie") return `session_id=${value.startsWith("session_id=;") ? "" : "<session>"}`;
  return value.toLowerCase().replace("; charset", ";charset");
}
