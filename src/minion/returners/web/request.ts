/** One HTTP request of a returner, with a deadline and a bounded answer. `fetch` cannot accept the certificate of one request unverified. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { returnerAnswerBytesMax } from "../../../limits.ts";
import { returnerError } from "../contract/errors.ts";

export type WebRequest = {
  readonly method: "GET" | "HEAD" | "POST" | "PUT";
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  readonly isVerified?: boolean;
  readonly signal: AbortSignal;
};
export type WebAnswer = { readonly status: number; readonly body: string };

/** Resolves to any answer, whatever its status. */
export function send({ method, url, headers, body, isVerified, signal }: WebRequest): Promise<WebAnswer> {
  const target = urlOf(url);
  const start = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length }, signal, rejectUnauthorized: isVerified !== false };
    const request = start(target, { ...options, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > returnerAnswerBytesMax) request.destroy(returnerError(`${target.host} answers without an end`));
        else pieces.push(piece);
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString() }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** @throws SaltworksError RETURNER_FAILED with status and answer unless the status is of the 200s */
export async function sendOrFail(request: WebRequest): Promise<WebAnswer> {
  const answer = await send(request);
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw returnerError(`${urlOf(request.url).host} answers ${answer.status}: ${answer.body.slice(0, shownLengthMax)}`);
}

/** Characters of an answer that an error shows. */
const shownLengthMax = 500;

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw returnerError("the address is not one of http or https");
}
