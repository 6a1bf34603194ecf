/** Sends answers: a value in the format that the client accepts, and errors in the same form. */
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { apiUnreadAnswerTimeoutMs } from "../../limits.ts";
import { yamlFileText } from "../../python/yaml-writer.ts";
import { asValue, type Encodable } from "../../wire/values.ts";
import { type AnswerFormat, answerFormat, mediaTypes } from "./accept.ts";
import { ApiError, errorBody } from "./errors.ts";
import { jsonText } from "./json-text.ts";

/** Node writes a header and a text at once, and bytes in a write of their own. Of a long text it would make a copy. */
const textLengthMax = 16_384;

function bodyOf(value: Encodable, format: AnswerFormat): string | Buffer {
  const text = format === "yaml" ? yamlFileText(asValue(value)) : jsonText(value);
  return text.length <= textLengthMax ? text : Buffer.from(text);
}

/** Without it, fastify adds a charset to the type of a text in JSON, which Salt's answers have not. */
const asItIs = (text: unknown): string => text as string;

/** @throws ApiError 406 */
export async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  value: Encodable,
  status = 200,
): Promise<FastifyReply> {
  const format = answerFormat(request.headers.accept);
  return await reply
    .code(status)
    .header("content-type", mediaTypes[format])
    .serializer(asItIs)
    .send(bodyOf(value, format));
}

/** Closes a connection whose client takes none of its answer. */
export function boundAnswer(socket: Socket): void {
  socket.setTimeout(apiUnreadAnswerTimeoutMs);
}

/** An error goes out as JSON also to a client that accepts neither format. */
export async function answerError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ApiError,
): Promise<FastifyReply> {
  let format: AnswerFormat = "json";
  try {
    format = answerFormat(request.headers.accept);
  } catch (fault) {
    if (!(fault instanceof ApiError)) throw fault;
  }
  const body = bodyOf(errorBody(error), format);
  return await reply
    .code(error.status)
    .headers(error.headers)
    .header("content-type", mediaTypes[format])
    .serializer(asItIs)
    .send(body);
}
