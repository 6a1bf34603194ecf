/** Answers of `POST /` as they come: one line of JSON for each result, for clients that accept `application/x-ndjson`. */

import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { apiLinesLookBytes, apiLinesUnreadBytesMax } from "../../limits.ts";
import type { Encodable } from "../../wire/values.ts";
import type { Deadline } from "../clients/deadline.ts";
import { type CallersChunk, runChunk } from "../clients/run-chunk.ts";
import { boundAnswer } from "../http/answer.ts";
import { errorBody } from "../http/errors.ts";
import { jsonText } from "../http/json-text.ts";
import { takeStreamSlot } from "../sessions/admit.ts";
import { type Api, sessionOf, userOf } from "../sessions/context.ts";

const linesType = "application/x-ndjson";

export function wantsLines(request: FastifyRequest): boolean {
  return (request.headers.accept ?? "").split(",").some((part) => part.trim().toLowerCase().startsWith(linesType));
}

/** Runs chunks in order. The last line says `done`, or the error that ended the request. */
export async function answerLines(
  api: Api,
  reply: FastifyReply,
  chunks: readonly CallersChunk[],
  deadline: Deadline,
): Promise<void> {
  await withLines(api, reply, async (tell) => {
    for (const [number, { chunk, ...caller }] of chunks.entries()) {
      let count = 0;
      const items = await runChunk(api, chunk, caller, deadline, (id, value) => {
        count += 1;
        tell({ chunk: number, id, return: value });
      });
      const isTold = count > 0 || chunk.client === "local_batch";
      if (!isTold) for (const item of items) tell({ chunk: number, return: item });
    }
    tell({ done: true });
  });
}

/** Begins an answer of lines to a session, and ends it after `step`. An error of `step` is the last line. @throws ApiError 401, 429 */
export async function withLines(
  api: Api,
  reply: FastifyReply,
  step: (tell: (line: Encodable) => void) => Promise<void>,
): Promise<void> {
  takeStreamSlot(api, reply, userOf(sessionOf(api, reply.request).session));
  reply.hijack();
  const response = reply.raw;
  const { answers } = api.admission;
  answers.watch(reply.request.raw.socket, response);
  response.writeHead(200, { ...(reply.getHeaders() as OutgoingHttpHeaders), "content-type": linesType });
  // A client sees at once that its request was taken: the first line may come a minute later.
  response.flushHeaders();
  const tell = (line: Encodable) => {
    // A client that does not read loses its answer: the job goes on.
    if (response.writableLength > apiLinesUnreadBytesMax) response.destroy();
    else response.write(`${jsonText(line)}\n`);
    if (response.writableLength > apiLinesLookBytes) answers.ask();
  };
  try {
    await step(tell);
  } catch (error) {
    tell(errorBody(api.report(error, reply.request)));
  }
  if (response.socket !== null) boundAnswer(response.socket);
  response.end();
}
