/** One GET request whose answer is bounded. Follows redirects, and sends a login only to the server that the configuration names. */
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { certificateAuthorities } from "../../../config/host/authorities.ts";
import { SaltworksError } from "../../../errors.ts";
import { extPillarBytesMax, extPillarRedirectsMax } from "../../../limits.ts";
import { sourceFault } from "../../input/source-fault.ts";

export type HttpAsked = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `user:password` */
  readonly login: string | undefined;
  readonly isVerified: boolean;
  /** A file of certificates; undefined for those of the system. */
  readonly bundle: string | undefined;
  readonly signal: AbortSignal;
};

function authorities(bundle: string | undefined): Buffer | undefined {
  try {
    return certificateAuthorities(bundle);
  } catch (error) {
    throw sourceFault(`${bundle} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** @returns the body. @throws SaltworksError PILLAR_FAILED; the message names the server and neither path nor login */
export async function httpBody(asked: HttpAsked): Promise<Uint8Array> {
  const first = urlOf(asked.url);
  let url = first;
  for (let redirects = 0; redirects <= extPillarRedirectsMax; redirects += 1) {
    const response = await answerOf(url, asked, url.origin === first.origin);
    const { statusCode = 0, headers } = response;
    const isRedirect = [301, 302, 303, 307, 308].includes(statusCode) && headers.location !== undefined;
    if (!isRedirect) {
      if (statusCode >= 200 && statusCode < 300) return await bodyOf(response);
      response.destroy();
      throw sourceFault(`${url.origin} answered with ${statusCode}`);
    }
    response.destroy();
    url = urlOf(headers.location ?? "", url);
  }
  throw sourceFault(`${first.origin} redirects more than ${extPillarRedirectsMax} times`);
}

function urlOf(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw sourceFault("the address is not one of http or https");
  return url;
}

function answerOf(url: URL, asked: HttpAsked, isOwnServer: boolean): Promise<IncomingMessage> {
  const { isVerified, bundle, signal, login } = asked;
  const basic = login === undefined ? {} : { authorization: `Basic ${Buffer.from(login).toString("base64")}` };
  const headers = isOwnServer ? { ...basic, ...asked.headers } : {};
  const ca = url.protocol === "https:" && isVerified ? authorities(bundle) : undefined;
  const options = {
    signal,
    headers,
    rejectUnauthorized: isVerified,
    ...(ca === undefined ? {} : { ca }),
    agent: false,
  };
  return new Promise((resolve, reject) => {
    const ask = url.protocol === "https:" ? secureRequest : plainRequest;
    const request = ask(url, options, resolve);
    request.once("error", (error: NodeJS.ErrnoException) =>
      reject(Object.assign(sourceFault(`${url.origin}: ${error.code ?? "no answer"}`), { cause: error })),
    );
    request.end();
  });
}

async function bodyOf(response: IncomingMessage): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > extPillarBytesMax)
        throw sourceFault(`the server sent more than ${extPillarBytesMax} bytes`, { isFatal: true, isTooLarge: true });
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof SaltworksError) throw error;
    const { code = "an error" } = error as NodeJS.ErrnoException;
    throw Object.assign(sourceFault(`the answer ended early: ${code}`), { cause: error });
  } finally {
    response.destroy();
  }
  return Buffer.concat(parts);
}
