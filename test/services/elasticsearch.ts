/** A server that keeps Elasticsearch's indexes, aliases and documents, with the answers of its published REST API. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";

export type ElasticFake = {
  readonly port: number;
  /** Method, path and parsed body of all requests but the greeting, in order. */
  readonly requests: { readonly asked: string; readonly body: unknown; readonly login: string | undefined }[];
  readonly close: () => Promise<void>;
};

type FakeOptions = {
  readonly version?: string;
  readonly security?: { readonly key: Buffer; readonly cert: Buffer };
  /** An index that appears between the look for it and its making, as if another minion made it. */
  readonly isRaced?: boolean;
  /** Why a document is refused. */
  readonly refusal?: string;
};

type Answer = { readonly status: number; readonly body: object };

export async function startElasticFake(options: FakeOptions = {}): Promise<ElasticFake> {
  const { version = "7.17.28", isRaced = false, refusal } = options;
  const names = new Set<string>();
  const requests: ElasticFake["requests"] = [];
  const answerTo = (method: string, path: string): Answer => {
    const [index = "", second = "", third = ""] = path.split("/").slice(1).map(decodeURIComponent);
    if (method === "GET" && path === "/") return { status: 200, body: greetingOf(version) };
    if (method === "HEAD") return { status: names.has(index) ? 200 : 404, body: {} };
    if (method === "PUT" && second === "") {
      if (names.has(index) || isRaced) return fault(400, "resource_already_exists_exception", `index [${index}]`);
      names.add(index);
      return { status: 200, body: { acknowledged: true, shards_acknowledged: true, index } };
    }
    if (method === "PUT" && second === "_alias") {
      names.add(third);
      return { status: 200, body: { acknowledged: true } };
    }
    if (method === "POST") {
      if (refusal !== undefined) return fault(400, "mapper_parsing_exception", refusal);
      const isTyped = second !== "_doc";
      if (isTyped && version.startsWith("8.")) return fault(400, "illegal_argument_exception", "no handler found");
      return { status: 201, body: { _index: index, _type: second, _id: "1", result: "created" } };
    }
    return fault(405, "method_not_allowed", `${method} ${path}`);
  };
  const listener: Parameters<typeof createServer>[1] = async (request, response) => {
    const { method = "", url = "", headers } = request;
    const body = await textOf(request);
    const asked = `${method} ${url}`;
    if (asked !== "GET /") {
      requests.push({ asked, body: body === "" ? undefined : JSON.parse(body), login: headers.authorization });
    }
    const answer = answerTo(method, url);
    // Clients of the 7 series talk only to a server that names its product.
    const product = { "content-type": "application/json", "x-elastic-product": "Elasticsearch" };
    response.writeHead(answer.status, product).end(JSON.stringify(answer.body));
  };
  const server: Server =
    options.security === undefined ? createServer(listener) : createSecureServer(options.security, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function greetingOf(number: string): object {
  return {
    ...{ name: "node-1", cluster_name: "docs", cluster_uuid: "u", tagline: "You Know, for Search" },
    version: { number, build_flavor: "default", build_type: "docker", lucene_version: "8.11.3" },
  };
}

function fault(status: number, type: string, reason: string): Answer {
  return { status, body: { error: { root_cause: [{ type, reason }], type, reason }, status } };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
