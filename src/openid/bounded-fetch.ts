/** Requests to an OpenID provider: each ends by a deadline, its answer has a bound, and it follows no redirect. */
import { oidcAnswerBytesMax, oidcTimeoutMs } from "../limits.ts";

/**
 * As `fetch`, but the answer's body is read already.
 *
 * @throws TypeError if the provider cannot be reached or redirects, a DOMException `TimeoutError`, RangeError for a body over the bound
 */
export async function boundedFetch(url: string, init: RequestInit = {}): Promise<Response> {
  // A redirect could lead to another provider, and to a host that only this machine can reach.
  const response = await fetch(url, { ...init, redirect: "error", signal: AbortSignal.timeout(oidcTimeoutMs) });
  const body = await bytesOf(response);
  const headers = new Headers();
  for (const name of ["content-type", "www-authenticate"]) {
    const value = response.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(body.byteLength === 0 ? null : body, { status: response.status, headers });
}

async function bytesOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    // Leaving the loop closes the connection.
    if (bytes > oidcAnswerBytesMax) throw new RangeError(`an answer of more than ${oidcAnswerBytesMax} bytes`);
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}
