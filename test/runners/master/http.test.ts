/** Runner `http`: what it shows of a server's answers. The expected values are those of Salt 3007's runner, asked for the same. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { callRunner, runnerContext } from "../calling.ts";

const agent = "Salt/3007.15 http.query()";
type Answer = readonly [code: number, headers: Readonly<Record<string, string | string[]>>, body: string | Buffer];
const answers: Readonly<Record<string, Answer>> = {
  "/json": [200, { "content-type": "application/json" }, '{"a": [1, 2.5, null, "grüße"]}'],
  "/yaml": [200, { "content-type": "application/x-yaml" }, "a: [1, 2]\nb: {c: yes}\n"],
  "/xml": [200, { "content-type": "text/xml" }, "<a><b>1</b></a>"],
  "/latin": [200, { "content-type": "text/plain; charset=iso-8859-1" }, Buffer.from("grüße", "latin1")],
  "/bytes": [200, { "content-type": "application/octet-stream" }, Buffer.from([0xff, 0, 0xfe])],
  "/404": [404, { "content-type": "text/plain" }, "not here"],
  "/moved": [302, { location: "/echo?moved=1" }, ""],
  "/moved307": [307, { location: "/echo?moved=1" }, ""],
  "/loop": [302, { location: "/loop" }, ""],
  "/two": [200, { "x-one": ["1", "2"] }, "x"],
};

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const part of request) body += String(part);
  const { method, url = "", headers } = request;
  if (url === "/close") return void request.socket.destroy();
  if (url === "/hang") return;
  if (url === "/switch") return void request.socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n");
  const [path = "", words = ""] = url.split("?");
  if (path === "/away") return void response.writeHead(302, { location: `http://127.0.0.1:${words}/echo` }).end();
  const seen = Object.fromEntries(Object.entries(headers).filter(([name]) => !["host", "connection"].includes(name)));
  const [code, sent, text] = answers[path] ?? [200, {}, JSON.stringify({ method, url, body, headers: seen })];
  response.writeHead(code, { ...sent, date: "now" }).end(text);
}

describe("runner http", () => {
  let server: Server;
  let other: Server;
  const portOf = (one: Server) => (one.address() as AddressInfo).port;
  before(async () => {
    [server, other] = [
      createServer((...asked) => void serve(...asked)),
      createServer((...asked) => void serve(...asked)),
    ];
    server.on("connect", (_request, socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    for (const one of [server, other]) await once(one.listen(0, "127.0.0.1"), "listening");
  });
  after(() => {
    for (const one of [server, other]) {
      one.closeAllConnections();
      one.close();
    }
  });
  type Named = Readonly<Record<string, unknown>>;
  const ask = async (path: string, named: Named = {}, config: Named = {}) => {
    const context = runnerContext({ config: { opts: new Map(Object.entries(config)) } });
    const url = `http://127.0.0.1:${portOf(server)}${path}`;
    return (await callRunner(context, "http.query", [url], named as never)) as Readonly<Record<string, unknown>>;
  };
  const echoed = async (named: Named, path = "/echo") => JSON.parse(String((await ask(path, named)).body)) as Named;

  it("sends method, data, parameters and headers", async () => {
    const headers = { "user-agent": agent };
    assert.deepEqual(await echoed({}), { method: "GET", url: "/echo", body: "", headers });
    const form = { ...headers, "content-type": "application/x-www-form-urlencoded" };
    assert.deepEqual(
      await echoed({
        method: "POST",
        data: new Map<string, unknown>([
          ["a", "b c"],
          ["d", 1],
        ]),
      }),
      {
        ...{ method: "POST", url: "/echo", body: "a=b+c&d=1", headers: { ...form, "content-length": "9" } },
      },
    );
    assert.equal((await echoed({ params: new Map([["a", "b c"]]) }, "/echo?q=1")).url, "/echo?q=1&a=b+c");
    const given = { header_dict: new Map([["X-A", "1"]]), header_list: ["X-B: 2", "broken"], agent: "mine" };
    assert.deepEqual((await echoed(given)).headers, { "x-a": "1", "x-b": "2", "user-agent": "mine" });
    const basic = { authorization: "Basic dTpw", "user-agent": agent };
    assert.deepEqual((await echoed({ username: "u", password: "p" })).headers, basic);
  });

  it("shows of the answer what it is asked for", async () => {
    const text = '{"a": [1, 2.5, null, "grüße"]}';
    const dict = { a: [1, 2.5, null, "grüße"] };
    assert.deepEqual(await ask("/json", { decode: true, text: true, status: true }), {
      body: text,
      status: 200,
      dict,
      text,
    });
    assert.deepEqual((await ask("/yaml", { decode: true })).dict, { a: [1, 2], b: { c: true } });
    assert.deepEqual(await ask("/json", { decode: true, decode_type: "plain" }), { body: text, text });
    const kinds = "('json', 'xml', 'yaml', 'plain')";
    assert.deepEqual(await ask("/json", { decode: true, decode_type: "nosuch" }), {
      body: text,
      error: `Invalid decode_type specified. Valid decode types are: ${kinds}`,
    });
    assert.deepEqual(await ask("/latin"), { body: "grüße" });
    const { headers } = await ask("/two", { headers: true });
    assert.equal((headers as Named)["X-One"], "1,2");
    assert.deepEqual(await ask("/echo", { test: true }), {});
  });

  it("gives errors of server and network as values", async () => {
    const refused = { status: 404, error: "HTTP 404: Not Found", body: "not here" };
    assert.deepEqual(await ask("/404"), refused);
    assert.deepEqual(await ask("/404", { raise_error: false, status: true }), { body: "not here", status: 404 });
    assert.deepEqual(await ask("/close"), { status: 599, error: "Stream closed" });
    const slow = await ask("/hang", {}, { http_request_timeout: 0.2 });
    assert.deepEqual(slow, { status: 599, error: "Timeout after 0.2 seconds" });
    assert.deepEqual(await ask("/switch"), { status: 101, error: "HTTP 101: Switching Protocols", body: "" });
    assert.deepEqual(await ask("/json", { method: "CONNECT", status: true }), { body: "", status: 200 });
    const noFile = await callRunner(
      runnerContext({ config: { opts: new Map() } }),
      "http.query",
      ["https://127.0.0.1:1/"],
      {
        ca_bundle: "/nonexistent",
      },
    );
    assert.match(String((noFile as Named).error), /ENOENT.*nonexistent/);
    assert.deepEqual(await ask("/json", {}, { http_max_body: 10 }), { status: 599, error: "Content-Length too long" });
    const unheard = await callRunner(runnerContext({ config: { opts: new Map() } }), "http.query", [
      "http://127.0.0.1:1/",
    ]);
    assert.deepEqual(unheard, { error: "[Errno 111] Connection refused" });
  });

  it("follows redirects, and sends a login to the first server only", async () => {
    assert.equal((await echoed({ method: "POST", data: "x" }, "/moved")).method, "GET");
    const kept = await echoed({ method: "POST", data: "x" }, "/moved307");
    assert.deepEqual([kept.method, kept.body], ["POST", "x"]);
    assert.equal((await ask("/loop")).error, "HTTP 302: Found");
    const given = { username: "u", password: "p", header_dict: new Map([["Cookie", "c=1"]]) };
    const { headers } = await echoed(given, `/away?${portOf(other)}`);
    assert.deepEqual(headers, { "user-agent": agent });
  });

  it("refuses what it cannot do, by name", async () => {
    const fails = (path: string, named: Named, message: RegExp, config: Named = {}) =>
      assert.rejects(ask(path, named, config), { code: "FUNCTION_FAILED", message });
    await fails("/bytes", {}, /not text in utf-8; decode_body=False gives its bytes/);
    await fails("/xml", { decode: true }, /XML needs a Python with Salt/);
    await fails("/yaml", { decode: true, decode_type: "json" }, /not JSON/);
    await fails("/echo", { cookies: true }, /cookies needs a Python with Salt/);
    await fails("/echo", { params: "a=b" }, /'args' parameter should be dict/);
    await fails("/echo", { params: [[1], [2, 3, 4]] }, /params must be a map, or a list of pairs/);
    await fails("/echo", {}, /proxy_host is set: backend=requests/, { proxy_host: "proxy" });
    const call = callRunner(runnerContext({ config: { opts: new Map() } }), "http.query", ["ftp://127.0.0.1/"]);
    await assert.rejects(call, { message: /Unsupported url scheme: ftp:/ });
  });
});
