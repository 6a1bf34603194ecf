/** The HTTP endpoint that Prometheus reads: GET and HEAD of /metrics, and nothing else. It shows no secrets and takes no input. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SaltworksError } from "../../errors.ts";
import {
  metricsConnectionsMax,
  metricsHeaderBytesMax,
  metricsIdleTimeoutMs,
  metricsRequestTimeoutMs,
} from "../../limits.ts";

export type MetricsServerOptions = {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  /** A socket that already listens at this address and port. */
  readonly descriptor?: number | undefined;
  /** Reads the metrics in Prometheus' text format. */
  readonly read: () => Promise<string>;
  readonly onFault: (error: Error) => void;
};

const contentType = "text/plain; version=0.0.4; charset=utf-8";

export class MetricsServer {
  readonly #options: MetricsServerOptions;
  readonly #server: Server;

  private constructor(options: MetricsServerOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        maxHeaderSize: metricsHeaderBytesMax,
        headersTimeout: metricsRequestTimeoutMs,
        requestTimeout: metricsRequestTimeoutMs,
        keepAliveTimeout: metricsIdleTimeoutMs,
        connectionsCheckingInterval: metricsRequestTimeoutMs,
      },
      (request, response) => this.#answer(request, response),
    );
    this.#server.maxConnections = metricsConnectionsMax;
    // Closes a connection whose client does not read its answer.
    this.#server.setTimeout(metricsIdleTimeoutMs);
  }

  /** @throws SaltworksError MASTER_RUNNING if the port is taken or the address is not this machine's */
  static async listen(options: MetricsServerOptions): Promise<MetricsServer> {
    const metrics = new MetricsServer(options);
    const { address, port, descriptor } = options;
    await new Promise<void>((resolve, reject) => {
      metrics.#server.once("error", (cause) => {
        const message = `cannot serve metrics on ${address} port ${port} (metrics_interface, metrics_port): ${cause.message}`;
        reject(new SaltworksError("MASTER_RUNNING", message, { address, port }, { cause }));
      });
      metrics.#server.listen(descriptor === undefined ? { host: address, port } : { fd: descriptor }, resolve);
    });
    metrics.#server.removeAllListeners("error").on("error", options.onFault);
    return metrics;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const hasBody = request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"]) > 0;
    if (hasBody) {
      refuse(response, 413, "No body is taken.");
    } else if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      refuse(response, 405, "Only GET and HEAD.");
    } else if (request.url?.split("?", 1)[0] !== "/metrics") {
      refuse(response, 404, "The metrics are at /metrics.");
    } else {
      this.#send(response, request.method === "HEAD");
    }
  }

  #send(response: ServerResponse, isHeadOnly: boolean): void {
    this.#options.read().then(
      (text) => {
        response.writeHead(200, { "content-type": contentType, "content-length": Buffer.byteLength(text) });
        response.end(isHeadOnly ? undefined : text);
      },
      (error: Error) => {
        this.#options.onFault(error);
        refuse(response, 500, "The metrics could not be read; the master's log says why.");
      },
    );
  }
}

/** Closes the connection after the answer, so that nothing more of it is read. */
function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(`${text}\n`);
}
