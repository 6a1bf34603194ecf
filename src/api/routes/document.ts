/** `GET /openapi.json`: what this API has, for generators of clients. Holds no secret, so that it needs no session. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { FastifyInstance } from "fastify";
import { yamlFileText } from "../../python/yaml-writer.ts";
import { asValue, type Encodable } from "../../wire/values.ts";
import { type AnswerFormat, answerFormat, mediaTypes } from "../http/accept.ts";
import { documentSchema } from "../schemas/pages.ts";

type Written = { readonly plain: Buffer; readonly packed: Buffer; readonly etag: string };

function write(document: object, format: AnswerFormat): Written {
  const text = JSON.stringify(document);
  const plain = Buffer.from(format === "json" ? text : yamlFileText(asValue(JSON.parse(text) as Encodable)));
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { plain, packed: gzipSync(plain), etag };
}

export function documentRoutes(app: FastifyInstance): void {
  const written = new Map<AnswerFormat, Written>();
  app.get("/openapi.json", { schema: documentSchema }, async (request, reply) => {
    const format = answerFormat(request.headers.accept);
    const { plain, packed, etag } = written.get(format) ?? write(app.swagger(), format);
    if (!written.has(format)) written.set(format, { plain, packed, etag });
    reply.headers({ etag, "cache-control": "no-cache", vary: "accept, accept-encoding" });
    if (request.headers["if-none-match"] === etag) return await reply.code(304).send();
    const isPacked = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
    if (isPacked) reply.header("content-encoding", "gzip");
    return await reply.header("content-type", mediaTypes[format]).send(isPacked ? packed : plain);
  });
}
