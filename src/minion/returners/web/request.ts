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
  /** Certificates of the authorities to trust instead of the usual ones. */
  readonly ca?: string;
  readonly signal: AbortSignal;
};
export type WebAnswer = { readonly status: number; readonly body: string };

/** Resolves to any answer, whatever its status. */
export function send({ method, url, headers, body, isVerified, ca, signal }: WebRequest): Promise<WebAnswer> {
  const target = urlOf(url);
  const start = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const security = { rejectUnauthorized: isVerified !== false, ...(ca === undefined ? {} : { ca }) };
    const options = { method, headers: { ...headers, ...length }, signal, agent: false, ...security };
    const request = start(target, options, (response) => {
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
  if (isGood(answer)) return answer;
  throw refusalBy(request.url, answer);
}

export function isGood({ status }: WebAnswer): boolean {
  return status >= 200 && status < 300;
}

export function refusalBy(url: string, { status, body }: WebAnswer): Error {
  return returnerError(`${urlOf(url).host} answers ${status}: ${body.slice(0, shownLengthMax)}`);
}

/** Characters of an answer that an error shows. */
const shownLengthMax = 500;

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw returnerError("the address is not one of http or https");
}
