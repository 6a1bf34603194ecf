/** Headers of answers, each described once. What every answer may have stands in the document's introduction (document.ts). */

type Header = { readonly description: string; readonly schema: object; readonly required?: true };

const text = { type: "string" } as const;

/** `required`: an answer that lists the header always has it. */
export const headerComponents = {
  Allow: {
    description: "The methods that the path has.",
    schema: { type: "string", pattern: "^(?:GET|POST|GET, POST)$" },
    required: true,
  },
  "Cache-Control": {
    description: "Who may keep the answer.",
    schema: { enum: ["no-cache", "no-store", "private"] },
  },
  "Content-Disposition": {
    description: "The name of the file.",
    schema: { type: "string", pattern: '^attachment; filename=".+"$' },
    required: true,
  },
  "Content-Encoding": { description: "Of clients that accept `gzip`.", schema: { const: "gzip" } },
  "Content-Security-Policy": { description: "Of pages: nothing but this server's own files.", schema: text },
  ETag: { description: "Names this content, for `If-None-Match`.", schema: { type: "string", pattern: '^".+"$' } },
  "Last-Modified": { description: "When the file was changed.", schema: text },
  Location: { description: "Where the browser goes on.", schema: text, required: true },
  "Referrer-Policy": { description: "Of pages.", schema: { const: "no-referrer" } },
  "Retry-After": { description: "Seconds.", schema: { type: "integer", minimum: 1 }, required: true },
  "Set-Cookie": {
    description:
      "`session_id`, the session's id, until the session's end; empty after a logout. Of the login at an OpenID provider also `saltworks_oidc`, with TLS `__Host-saltworks_oidc`.",
    schema: { type: "string", pattern: "^(?:session_id|(?:__Host-)?saltworks_oidc)=" },
  },
  Upgrade: { description: "What the path speaks.", schema: { const: "websocket" }, required: true },
  "WWW-Authenticate": { description: "How to log in.", schema: { const: "Session" }, required: true },
  "X-Accel-Buffering": { description: "Asks proxies to send each event at once.", schema: { const: "no" } },
  "X-Auth-Token": {
    description: "The session's id.",
    schema: { type: "string", pattern: "^[0-9a-f]{40}$" },
    required: true,
  },
  "X-Content-Type-Options": { description: "Of pages and files.", schema: { const: "nosniff" } },
} as const satisfies Readonly<Record<string, Header>>;

export type HeaderName = keyof typeof headerComponents;
/** By status. */
export type HeadersOf = Readonly<Record<number, readonly HeaderName[]>>;

export const pageHeaderNames = [
  "Cache-Control",
  "Content-Security-Policy",
  "Referrer-Policy",
  "X-Content-Type-Options",
] as const satisfies readonly HeaderName[];
export const fileHeaderNames = [
  ...pageHeaderNames,
  "Content-Encoding",
  "ETag",
  "Last-Modified",
] as const satisfies readonly HeaderName[];

export function headerRefs(names: readonly HeaderName[]): Readonly<Record<string, { readonly $ref: string }>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
