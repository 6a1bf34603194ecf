/** Serves the dashboard's pages, which the build bundles: the page at the root for browsers, and its files under `/dashboard/`. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../http/errors.ts";
import { fileSchema } from "../schemas/pages.ts";

type PageFile = { readonly type: string; readonly plain: Buffer; readonly packed: Buffer; readonly etag: string };

const types = {
  "page.html": "text/html; charset=utf-8",
  "main.js": "text/javascript; charset=utf-8",
  "styles.css": "text/css; charset=utf-8",
  "icon.svg": "image/svg+xml",
} as const;

/** Nothing but this server's own files, and no inline script or style: a text from a minion cannot become code. */
export const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
  vary: "accept, accept-encoding",
} as const;

function readPageFile(folder: URL, name: keyof typeof types): PageFile {
  const plain = readFileSync(new URL(name, folder));
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { type: types[name], plain, packed: gzipSync(plain), etag };
}

async function send(request: FastifyRequest, reply: FastifyReply, file: PageFile): Promise<FastifyReply> {
  reply.headers(pageHeaders).header("etag", file.etag);
  if (request.headers["if-none-match"] === file.etag) return await reply.code(304).send();
  reply.header("content-type", file.type);
  const isPacked = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  if (isPacked) reply.header("content-encoding", "gzip");
  return await reply.send(isPacked ? file.packed : file.plain);
}

export type Page = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Adds the files' routes. @returns the handler of the page itself */
export function dashboardRoutes(app: FastifyInstance): Page {
  const folder = new URL("../../../dashboard/", import.meta.url);
  const names = Object.keys(types) as (keyof typeof types)[];
  const files = new Map<string, PageFile>(names.map((name) => [name, readPageFile(folder, name)]));
  const schema = fileSchema("getDashboardFile", "A file of the dashboard.", "name");
  app.get<{ Params: { name: string } }>("/dashboard/:name", { schema }, async (request, reply) => {
    const file = files.get(request.params.name);
    if (file === undefined) throw new ApiError("PATH_UNKNOWN", "The dashboard does not have this file.");
    return await send(request, reply, file);
  });
  return async (request, reply) => {
    const [path = "", query] = request.url.split("?", 2);
    // The page names its files relative to itself, so that its address must end with a slash.
    if (!path.endsWith("/")) {
      return await reply.redirect(
        `${path.slice(path.lastIndexOf("/") + 1)}/${query === undefined ? "" : `?${query}`}`,
        308,
      );
    }
    return await send(request, reply, files.get("page.html") ?? readPageFile(folder, "page.html"));
  };
}
