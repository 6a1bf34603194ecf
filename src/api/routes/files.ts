/** Static files and the page of `app`. A name reaches nothing outside its directory, also not through links. */

import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { notFound } from "../http/errors.ts";
import { fileSchema } from "../schemas/pages.ts";
import type { Api } from "../sessions/context.ts";

/** Browsers run modules only with the type of JavaScript. */
const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".gif": "image/gif",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff": "font/woff",
  ".woff2": "font/woff2",
};

/** The real path of a file below `root`; undefined if there is none. */
async function fileBelow(root: string, name: string): Promise<string | undefined> {
  if (name.includes("\0")) return undefined;
  try {
    const [base, file] = await Promise.all([realpath(root), realpath(join(root, name))]);
    return file.startsWith(base + sep) ? file : undefined;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EACCES")) return undefined;
    throw error;
  }
}

async function sendFile(request: FastifyRequest, reply: FastifyReply, file: string): Promise<FastifyReply> {
  const found = await stat(file).catch((error: unknown) => {
    if (hasCodeIn(error, "ENOENT", "EACCES")) return undefined;
    throw error;
  });
  if (found === undefined || !found.isFile()) throw notFound(request.url);
  const etag = `"${Math.floor(found.mtimeMs).toString(36)}-${found.size.toString(36)}"`;
  reply.headers({ etag, "cache-control": "no-cache", "last-modified": found.mtime.toUTCString() });
  reply.header("x-content-type-options", "nosniff");
  if (request.headers["if-none-match"] === etag) return await reply.code(304).send();
  reply.header("content-type", types[extname(file).toLowerCase()] ?? "application/octet-stream");
  return await reply.header("content-length", found.size).send(createReadStream(file));
}

/** Sends the page of `app`. Undefined where none is configured. */
export function pageOf(
  api: Api,
): ((request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>) | undefined {
  const { app } = api.settings;
  return app === undefined ? undefined : async (request, reply) => await sendFile(request, reply, app);
}

export function fileRoutes(app: FastifyInstance, api: Api): void {
  const { staticDirectory, staticPath, appPath, favicon } = api.settings;
  if (staticDirectory !== undefined) {
    const schema = fileSchema("getStaticFile", "A file of `static`.", "path");
    app.get<{ readonly Params: { readonly "*": string } }>(`${staticPath}/*`, { schema }, async (request, reply) => {
      const file = await fileBelow(staticDirectory, request.params["*"]);
      if (file === undefined) throw notFound(request.url);
      return await sendFile(request, reply, file);
    });
  }
  if (favicon !== undefined) {
    const schema = fileSchema("getFavicon", "The icon of `favicon`.");
    app.get("/favicon.ico", { schema }, async (request, reply) => await sendFile(request, reply, favicon));
  }
  const page = pageOf(api);
  if (page === undefined) return;
  app.get(appPath, { schema: fileSchema("getApp", "The page of `app`.") }, page);
  app.get(`${appPath}/*`, { schema: fileSchema("getAppBelow", "The page of `app`.", "path") }, page);
}
