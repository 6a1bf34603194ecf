/**
 * The HTTP endpoint that Prometheus reads: GET and HEAD of /metrics, and nothing else. It shows no secrets, and takes no input but the form and the
 * encoding that the client accepts.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { SaltworksError } from "../../errors.ts";
import {
  metricsConnectionsMax,
  metricsHeaderBytesMax,
  metricsIdleTimeoutMs,
  metricsRequestTimeoutMs,
} from "../../limits.ts";

/** The forms in which scrapers read metrics. */
export type TextForm = "prometheus" | "openmetrics";

export type MetricsServerOptions = {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  /** A socket that already listens at this address and port. */
  readonly descriptor?: number | undefined;
  /** Reads the metrics in one of their forms. */
  readonly read: (form: TextForm) => Promise<string>;
  readonly onFault: (error: Error) => void;
};

const contentTypes: Readonly<Record<TextForm, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};
const packed = promisify(gzip);

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
      void this.#send(request, response);
    }
  }

  async #send({ method, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = acceptedForm(headers.accept ?? "");
    const isPacked = takesGzip(String(headers["accept-encoding"] ?? ""));
    try {
      const text = await this.#options.read(form);
      const body = isPacked ? await packed(text) : Buffer.from(text);
      response.writeHead(200, {
        "content-type": contentTypes[form],
        "content-length": body.length,
        vary: "accept, accept-encoding",
        ...(isPacked && { "content-encoding": "gzip" }),
      });
      response.end(method === "HEAD" ? undefined : body);
    } catch (error) {
      this.#options.onFault(error as Error);
      refuse(response, 500, "The metrics could not be read; the master's log says why.");
    }
  }
}

/** OpenMetrics only for a client that names it in a version that is written here, with more weight than Prometheus' own format. */
function acceptedForm(accept: string): TextForm {
  const weights = { prometheus: 0, openmetrics: 0 };
  for (const range of accept.toLowerCase().split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    const version = parameterOf(parameters, "version");
    const weight = Number(parameterOf(parameters, "q") ?? 1);
    const isOpen = type === "application/openmetrics-text" && /^(?:1\.0\.0)?$/.test(version ?? "");
    const form = isOpen ? "openmetrics" : type === "text/plain" ? "prometheus" : undefined;
    if (form !== undefined) weights[form] = Math.max(weights[form], weight || 0);
  }
  return weights.openmetrics > weights.prometheus ? "openmetrics" : "prometheus";
}

function takesGzip(acceptEncoding: string): boolean {
  const codings = acceptEncoding.toLowerCase().split(",");
  return codings.some((coding) => {
    const [name = "", ...parameters] = coding.split(";").map((part) => part.trim());
    return name === "gzip" && Number(parameterOf(parameters, "q") ?? 1) > 0;
  });
}

function parameterOf(parameters: readonly string[], name: string): string | undefined {
  return parameters.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Closes the connection after the answer, so that nothing more of it is read. */
function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(`${text}\n`);
}
