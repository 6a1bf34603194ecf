import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { parse } from "yaml";
import { buildServer } from "../../src/api/server.ts";
import type { MasterConfig } from "../../src/config/load.ts";
import type { ConfigMap } from "../../src/config/yaml/values.ts";
import { differences, type Instead } from "../interop/api/differences.ts";
import { type Exchange, recorded } from "../interop/api/recorded.ts";
import { siteOf } from "../interop/api/replay.ts";
import { type Expected, isErrorBody, withRules } from "../interop/api/rules.ts";
import { repositoryRoot } from "../root.ts";
import { ApiSite } from "./api-site.ts";
import type { ApiDocument, Description, Operation } from "./described.ts";

const page = join(repositoryRoot, "docs", "dashboard.md");
const provider = {
  "^issuer": "https://login.example",
  "^client_id": "salt",
  "^redirect_uri": "https://salt.example/login/oidc/callback",
  "^provider_logout": true,
};
const pages = { app: page, favicon: page, static: repositoryRoot };

type Route = { readonly method: string; readonly url: string };

/** What a running server has, and its document. */
async function served(
  block: ConfigMap,
  options: Partial<MasterConfig> = {},
): Promise<{ readonly routes: readonly Route[]; readonly document: ApiDocument }> {
  const site = await ApiSite.start({}, block, options);
  const app = buildServer(site.api);
  const routes: Route[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    for (const name of [method].flat()) routes.push({ method: name, url });
  });
  await app.ready();
  const prefix = site.api.settings.rootPrefix;
  const answer = await site.fetch(`${prefix}/openapi.json`);
  assert.equal(answer.status, 200);
  const document = (await answer.json()) as ApiDocument;
  await app.close();
  await site.close();
  return { routes, document };
}

function operationsOf(document: ApiDocument): readonly Operation[] {
  return Object.values(document.paths).flatMap((path) => Object.values(path));
}

describe("the OpenAPI document", () => {
  for (const [name, block, options] of [
    ["with a dashboard and an OpenID provider", {}, { external_auth: { oidc: provider } }],
    ["with pages, and open hooks and counters", { ...pages, webhook_disable_auth: true, stats_disable_auth: true }, {}],
    ["without sessions, below a prefix", { enable_sessions: false, root_prefix: "/salt" }, {}],
  ] as const)
    it(`${name} is valid, and describes each route of the server and no other`, async () => {
      const { routes, document } = await served(block, options);
      const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>);
      assert.deepEqual([valid, errors], [true, undefined]);
      const prefix = document.servers[0].url.replace(/^\/$/, "");
      const own = routes
        .filter(({ method }) => method !== "HEAD")
        .map(({ method, url }) => {
          const path =
            url
              .slice(prefix.length)
              .replace(/\*$/, "{path}")
              .replaceAll(/:(\w+)/g, "{$1}") || "/";
          return `${method} ${path}`;
        });
      const described = Object.entries(document.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      );
      assert.ok(described.length > 8);
      assert.deepEqual([...new Set(own)].sort(), described.sort());
      const operations = operationsOf(document);
      const unnamed = operations.filter(({ operationId, summary }) => !operationId || !summary);
      assert.deepEqual(unnamed, [], "a route without a schema");
      const ids = operations.map(({ operationId }) => operationId);
      assert.equal(new Set(ids).size, ids.length);
    });

  it("needs no session, comes as YAML too, and is not sent again to a client that has it", async () => {
    const site = await ApiSite.start({});
    const json = await site.fetch("/openapi.json");
    const yaml = await site.fetch("/openapi.json", { headers: { accept: "application/x-yaml" } });
    const etag = json.headers.get("etag") ?? "";
    assert.deepEqual(await json.json(), parse(await yaml.text()));
    const again = await site.fetch("/openapi.json", { headers: { "if-none-match": etag } });
    assert.deepEqual([again.status, await again.text()], [304, ""]);
    await site.close();
  });
});

const listed = new Map(differences.flatMap(({ exchanges }) => Object.entries(exchanges)));
const files = "session clients resources permissions jobs events-sse saltgui unresponsive-minion".split(" ");

/** The answer that the API gives instead of Salt's: of the same form where nothing else is listed. */
function ours(name: string, exchange: Exchange) {
  const { status } = exchange.response;
  const text = JSON.stringify({ status, return: "" });
  // Salt's errors have no code.
  const coded = (body: unknown) => (isErrorBody(body) ? { ...body, code: "FAULT" } : body);
  const { expected } = withRules(exchange, { status, reason: "", headers: {}, text });
  const instead: Instead | undefined = listed.get(name);
  if (instead === undefined)
    return {
      status: expected.status,
      type: expected.headers["content-type"],
      // Of a browser's exchanges the recording has only the type.
      headers: expected.reason === undefined ? undefined : headersOf(expected),
      body: coded(expected.body),
    };
  // A pattern is of a body's text; the answers themselves are compared when the exchanges are sent again.
  const body = instead.body instanceof RegExp ? undefined : coded(instead.body);
  return { status: instead.status, type: "application/json", headers: undefined, body };
}

/** Those of Salt's that we send as well: it names the methods of a path, and bounds caches, in every answer. */
function headersOf({ status, headers }: Expected) {
  const names = ["content-disposition", "last-modified", "set-cookie", "www-authenticate"];
  const token = headers["x-auth-token"] === undefined ? {} : { "x-auth-token": "0".repeat(40) };
  const added = { 405: { allow: "POST" }, 503: { "retry-after": "1" } }[status];
  return { ...Object.fromEntries(names.map((name) => [name, headers[name]])), ...token, ...added };
}

/** Members that stand for what was left out of a recording. */
function withoutElided(name: string, value: unknown): unknown {
  return /^_.*elided$/.test(name) ? undefined : value;
}

describe("answers recorded with Salt's HTTP API", () => {
  const described = new Map<string, Description>();
  const sites: ApiSite[] = [];
  before(async () => {
    for (const [name, block] of [
      ["main", { ...pages, collect_stats: true }],
      ["nosess", { enable_sessions: false, webhook_disable_auth: true }],
      ["acl", {}],
    ] as const) {
      const site = await ApiSite.start({}, block);
      sites.push(site);
      described.set(name, await site.description());
    }
  });
  after(async () => {
    for (const site of sites) await site.close();
  });
  const descriptionFor = (name: string) => described.get(siteOf(name)) as Description;

  for (const file of files)
    it(`of ${file}.json are as the document says`, () => {
      const { exchanges } = recorded(file);
      assert.ok(exchanges.length > 3);
      const faults = exchanges.flatMap((exchange) => {
        const { name, request } = exchange;
        const { status, type, headers, body } = ours(`${file}/${name}`, exchange);
        const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body, withoutElided);
        const { method, path } = request;
        return descriptionFor(name)
          .faultsOf({ method, path, status, type, body: text, ...(headers === undefined ? {} : { headers }) })
          .map((fault) => `${name}: ${fault}`);
      });
      assert.deepEqual(faults, []);
    });

  it("of pepper.json, of streams and WebSockets are as the document says", () => {
    type Sent = { readonly request: Exchange["request"]; readonly response: { status: number; body: unknown } };
    const { runs } = recorded<{ runs: { http: Sent[] }[] }>("pepper");
    const main = descriptionFor("");
    const sent = runs.flatMap(({ http }) => http).filter(({ response }) => response.status < 400);
    assert.ok(sent.length > 20);
    const faults = sent.flatMap(({ request: { method, path }, response: { status, body } }) =>
      main.faultsOf({ method, path, status, type: "application/json", body: JSON.stringify(body) }),
    );
    const { records } = recorded<{ records: { json: unknown }[] }>("events-sse");
    const events = records.map(({ json }) => `data: ${JSON.stringify(json)}`).join("\n\n");
    faults.push(
      ...main.faultsOf({ method: "GET", path: "/events", status: 200, type: "text/event-stream", body: events }),
    );
    type Upgrade = { readonly request: string; readonly response_head: readonly string[] };
    for (const { request, response_head: head } of recorded<{ exchanges: Upgrade[] }>("websocket").exchanges) {
      const status = Number(head[0]?.split(" ")[1]);
      const answer = { method: "GET", path: request.split(" ")[1] ?? "", status, type: "application/json" };
      faults.push(...main.faultsOf({ ...answer, body: undefined }));
    }
    assert.deepEqual(faults, []);
  });

  it("were given to bodies that the document allows", () => {
    const sent = files.flatMap((file) =>
      recorded(file).exchanges.filter(
        (exchange) =>
          ours(`${file}/${exchange.name}`, exchange).status < 300 && typeof exchange.request.body === "object",
      ),
    );
    const faults = sent.flatMap(({ name, request: { method, path, body } }) => {
      const description = descriptionFor(name);
      const known = description.pathOf(path);
      if (body === null || known === undefined || method !== "POST") return [];
      const at = `/paths/${known.replaceAll("/", "~1")}/post/requestBody/content/application~1json/schema`;
      const isDescribed = description.document.paths[known]?.post?.requestBody !== undefined;
      return isDescribed ? description.faultsOfValue(body, at).map((fault) => `${name}: ${fault}`) : [];
    });
    assert.ok(sent.length > 100);
    assert.deepEqual(faults, []);
  });
});
