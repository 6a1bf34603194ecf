/** Headers for pages of other origins. No origin is allowed unless `cors_origin` names it. */

/** "*" allows every origin, but no cookies: any page could use a logged-in browser then. */
export function originHeaders(
  allowed: readonly string[],
  origin: string | undefined,
): Readonly<Record<string, string>> {
  if (origin === undefined || allowed.length === 0) return {};
  if (allowed.includes(origin))
    return {
      "access-control-allow-origin": origin,
      "access-control-allow-credentials": "true",
      "access-control-expose-headers": "X-Auth-Token, Retry-After",
      vary: "Origin",
    };
  if (!allowed.includes("*")) return { vary: "Origin" };
  return { "access-control-allow-origin": "*", "access-control-expose-headers": "X-Auth-Token, Retry-After" };
}

export const preflightHeaders: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "GET, POST",
  "access-control-allow-headers":
    "Accept, Authorization, Cache-Control, Content-Type, Last-Event-ID, X-Auth-Token, X-Requested-With",
  "access-control-max-age": "1400",
};
