/** A page for a browser whose navigation failed: what happened, and the way back. */
import type { FastifyReply } from "fastify";
import type { ApiError } from "../http/errors.ts";
import { pageHeaders } from "./dashboard.ts";

export type ErrorPage = (reply: FastifyReply, error: ApiError) => Promise<FastifyReply>;

declare module "fastify" {
  interface FastifyContextConfig {
    /** What browsers get in place of an error's JSON. */
    readonly errorPage?: ErrorPage;
  }
}

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** `homeUrl`: the API's root, with a slash at its end. `body` is HTML. */
export function pageAround(homeUrl: string, title: string, body: string): string {
  const home = escaped(homeUrl);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escaped(title)} · Saltworks</title>
    <link rel="icon" href="${home}dashboard/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="${home}dashboard/styles.css">
  </head>
  <body>
    <main class="login">
      <h1>Saltworks</h1>
      ${body}
    </main>
  </body>
</html>
`;
}

export function errorPage(homeUrl: string, title = "Login failed"): ErrorPage {
  return async (reply, { status, message, headers }) => {
    const body = `<div role="alert"><p class="failure">${escaped(message)}.</p></div>
      <p><a class="button" href="${escaped(homeUrl)}">Back to the login</a></p>`;
    reply.code(status).headers({ ...pageHeaders, ...headers, "cache-control": "no-store" });
    return await reply.header("content-type", "text/html; charset=utf-8").send(pageAround(homeUrl, title, body));
  };
}
