/** Files of web servers, for `cp.get_url` and `cp.cache_file`. Source: Salt 3007's file client. */
import { urlWaitMs } from "../../../limits.ts";
import { pythonException } from "../../functions/errors.ts";

const schemes = ["http:", "https:"];

/** @throws SaltworksError FUNCTION_FAILED for an unsupported scheme */
export function webAddress(source: string): URL {
  const url = URL.canParse(source) ? new URL(source) : undefined;
  if (url !== undefined && schemes.includes(url.protocol)) return url;
  throw minionError(`${source.split("://")[0]}:// is not supported by this minion`);
}

/** The content at the address, in pieces. @throws SaltworksError FUNCTION_FAILED with Salt's text */
export async function fetchAddress(url: URL): Promise<AsyncIterable<Uint8Array>> {
  // Name and password go into a header, because `fetch` refuses them in the address.
  const plain = new URL(url);
  plain.username = "";
  plain.password = "";
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const headers: Record<string, string> =
    url.username === "" ? {} : { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
  let response: Response;
  try {
    response = await fetch(plain, { headers, signal: AbortSignal.timeout(urlWaitMs) });
  } catch (error) {
    const { cause, message } = error as Error;
    throw minionError(`Error: ${cause instanceof Error ? cause.message : message} reading ${url.pathname}`);
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw minionError(`Error: HTTP ${response.status}: ${response.statusText} reading ${url.pathname}`);
  }
  return response.body ?? empty();
}

async function* empty(): AsyncGenerator<Uint8Array> {}

function minionError(text: string) {
  return pythonException("salt.exceptions.MinionError", text);
}
