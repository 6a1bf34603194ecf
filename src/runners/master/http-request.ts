/** One HTTP request as Salt's `http.query` makes it: redirects, a bound of time and size, and errors as values. Source: Salt 3007 with tornado, observed. */
import { type IncomingMessage, request as plainRequest } from "node:http";
import { type RequestOptions, request as secureRequest } from "node:https";
import type { Duplex } from "node:stream";
import { certificateAuthorities } from "../../config/host/authorities.ts";

export type HttpAsked = {
  readonly url: URL;
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  /** Undefined: none is sent. */
  readonly body: string | undefined;
  /** `user:password`, sent to the server of `url` only. */
  readonly login: string | undefined;
  readonly isVerified: boolean;
  /** A file of certificates; undefined for those of the system. */
  readonly bundle: string | undefined;
  readonly timeoutMs: number;
  /** For the connection and its TLS. */
  readonly connectTimeoutMs: number;
  readonly bytesMax: number;
};

/** `headers`: names as `Content-Type`, values of one name joined by commas. */
export type HttpAnswer = {
  readonly code: number;
  readonly reason: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
};
/** `code`: 599 if the server answered badly; undefined if it was not reached. */
export type HttpFault = { readonly code: number | undefined; readonly text: string };

const redirectsMax = 5;
const badAnswerCode = 599;
const lateCode = "SALTWORKS_LATE";

/** Never throws for what a server, the network or the file of certificates does. */
export async function requestHttp(asked: HttpAsked): Promise<HttpAnswer | HttpFault> {
  const signal = AbortSignal.timeout(asked.timeoutMs);
  let [url, method, body, headers] = [asked.url, asked.method, asked.body, asked.headers];
  for (let redirects = 0; ; redirects += 1) {
    const isOwnServer = url.origin === asked.url.origin;
    const answer = await answerOf(
      { ...asked, url, method, body, headers: isOwnServer ? headers : strangers(headers) },
      isOwnServer,
      signal,
    );
    if (!("body" in answer)) return answer;
    const location = answer.headers.get("Location");
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.code) && location !== undefined;
    if (!isRedirect || redirects >= redirectsMax || !URL.canParse(location, url.href)) return answer;
    url = new URL(location, url);
    if (answer.code < 303 ? method === "POST" : answer.code === 303 && method !== "HEAD") {
      [method, body] = ["GET", undefined];
      headers = new Map([...headers].filter(([name]) => !/^content-|^transfer-encoding$/i.test(name)));
    }
  }
}

/** Another server gets no secrets. */
function strangers(headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...headers].filter(([name]) => !/^(?:authorization|cookie|x-.*(?:token|key).*)$/i.test(name)));
}

async function answerOf(asked: HttpAsked, isOwnServer: boolean, signal: AbortSignal): Promise<HttpAnswer | HttpFault> {
  const { url, method, body, login, isVerified, bytesMax } = asked;
  const headers = new Map(asked.headers);
  if (login !== undefined && isOwnServer)
    headers.set("Authorization", `Basic ${Buffer.from(login).toString("base64")}`);
  headers.set("Connection", "close");
  if (body !== undefined) headers.set("Content-Length", String(Buffer.byteLength(body)));
  try {
    const ca = url.protocol === "https:" && isVerified ? certificateAuthorities(asked.bundle) : undefined;
    const options = {
      ...{ method, signal, agent: false, rejectUnauthorized: isVerified, headers: Object.fromEntries(headers) },
      ...(ca === undefined ? {} : { ca }),
    };
    const { response, isSwitched } = await sent(url, options, body, asked.connectTimeoutMs);
    const read = isSwitched ? Buffer.alloc(0) : await bodyOf(response, bytesMax);
    if (read === undefined) return { code: badAnswerCode, text: "Content-Length too long" };
    const { statusCode: code = 0, statusMessage: reason = "" } = response;
    return { code, reason, headers: namedHeaders(response.rawHeaders), body: read };
  } catch (error) {
    return faultOf(error as NodeJS.ErrnoException, signal, asked.timeoutMs);
  }
}

/** A server that switches to another protocol gives its head, and no body. */
function sent(
  url: URL,
  options: RequestOptions,
  body: string | undefined,
  connectTimeoutMs: number,
): Promise<{ readonly response: IncomingMessage; readonly isSwitched: boolean }> {
  return new Promise((resolve, reject) => {
    const ask = url.protocol === "https:" ? secureRequest : plainRequest;
    const request = ask(url, options, (response) => resolve({ response, isSwitched: false }));
    const late = setTimeout(() => request.destroy(lateError()), connectTimeoutMs);
    const stop = () => clearTimeout(late);
    const switched = (response: IncomingMessage, socket: Duplex) => {
      socket.destroy();
      resolve({ response, isSwitched: true });
    };
    request.on("socket", (socket) => socket.once(url.protocol === "https:" ? "secureConnect" : "connect", stop));
    request.once("connect", switched).once("upgrade", switched);
    request.once("close", stop).once("error", reject);
    request.end(body);
  });
}

function lateError(): Error {
  return Object.assign(new Error("Timeout while connecting"), { code: lateCode });
}

/** @returns undefined for a body over the bound */
async function bodyOf(response: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.byteLength;
    if (bytes > bytesMax) {
      response.destroy();
      return undefined;
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function namedHeaders(raw: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase().replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
    const before = found.get(name);
    found.set(name, before === undefined ? (raw[at + 1] ?? "") : `${before},${raw[at + 1]}`);
  }
  return found;
}

/** Texts of Python for the most frequent errors. */
function faultOf(error: NodeJS.ErrnoException, signal: AbortSignal, timeoutMs: number): HttpFault {
  const { code = "", errno = 0, message } = error;
  if (code === lateCode) return { code: badAnswerCode, text: message };
  if (signal.aborted) return { code: badAnswerCode, text: `Timeout after ${timeoutMs / 1_000} seconds` };
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE" || message === "aborted")
    return { code: badAnswerCode, text: "Stream closed" };
  if (code === "ECONNREFUSED") return { code: undefined, text: `[Errno ${-errno}] Connection refused` };
  if (code === "ENOTFOUND") return { code: undefined, text: "[Errno -2] Name or service not known" };
  return { code: undefined, text: message };
}
