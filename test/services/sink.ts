/** A web server that keeps each request and answers all alike. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Sink = {
  readonly port: number;
  readonly requests: {
    readonly method: string;
    readonly path: string;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }[];
  readonly close: () => Promise<void>;
};

/** `isSecure`: HTTPS with a certificate of its own. */
export async function openSink(
  options: { readonly status?: number; readonly answer?: string; readonly isSecure?: boolean } = {},
): Promise<Sink> {
  const requests: Sink["requests"] = [];
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      requests.push({ method, path: url, headers, body: Buffer.concat(pieces).toString() });
      response.writeHead(options.status ?? 200, { connection: "close" }).end(options.answer ?? "ok");
    });
  };
  const server = options.isSecure ? createSecureServer(certificate(), listener) : createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** For 127.0.0.1, signed by itself. */
export function certificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const directory = mkdtempSync(join(tmpdir(), "sw-sink-"));
  try {
    const [key, cert] = [join(directory, "key"), join(directory, "cert")];
    const subject = ["-subj", "/CN=127.0.0.1", "-days", "1", "-addext", "subjectAltName=IP:127.0.0.1"];
    const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, ...subject];
    execFileSync("openssl", args, { stdio: "ignore" });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
