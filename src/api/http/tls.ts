/** Reads the files of TLS, and says which of them is wrong before the server listens. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ApiTls } from "../../config/api-settings.ts";
import { SaltworksError } from "../../errors.ts";
import { apiHandshakeTimeoutMs } from "../../limits.ts";

const invalid = (sentence: string, cause?: unknown) =>
  new SaltworksError("CONFIG_INVALID", `rest_cherrypy: ${sentence}`, {}, { cause });

function read(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw invalid(`${name} cannot be read: ${(error as Error).message}`, error);
  }
}

/** The message of OpenSSL may quote the file, and is left out. */
function parsed<Kind>(name: string, file: string, what: string, parse: (text: string) => Kind): Kind {
  const text = read(name, file);
  try {
    return parse(text);
  } catch {
    throw invalid(`${name}: ${file} holds no ${what}`);
  }
}

export type TlsOptions = {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: "TLSv1.2";
  readonly handshakeTimeout: number;
};

/** @throws SaltworksError CONFIG_INVALID for a file that cannot be read, or a key that is another certificate's */
export function tlsOptions({ certificate, key, chain }: ApiTls): TlsOptions {
  const own = parsed("ssl_crt", certificate, "certificate in PEM", (text) => new X509Certificate(text));
  const form = "private key in PEM without a passphrase";
  const secret: KeyObject = parsed("ssl_key", key, form, (text) => createPrivateKey(text));
  if (!own.checkPrivateKey(secret)) throw invalid(`ssl_key: ${key} is not the key of the certificate ${certificate}`);
  if (chain !== undefined) parsed("ssl_chain", chain, "certificate in PEM", (text) => new X509Certificate(text));
  const files = chain === undefined ? [certificate] : [certificate, chain];
  return {
    cert: files.map((file) => read("ssl_crt", file)).join("\n"),
    key: read("ssl_key", key),
    minVersion: "TLSv1.2",
    handshakeTimeout: apiHandshakeTimeoutMs,
  };
}
