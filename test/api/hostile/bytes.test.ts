import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { ApiSite } from "../api-site.ts";
import { exchange, pipelined, statusesIn } from "./raw-client.ts";

let site: ApiSite;

describe("the HTTP API before bytes that are not a request", () => {
  afterEach(async () => await site.close());

  it("answers with one error in JSON and closes, and serves others meanwhile", async () => {
    site = await ApiSite.start({});
    const flood = `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${"b".repeat(20_000)}\r\n\r\n`;
    const cases = [
      ["nonsense\r\n\r\n", 400],
      // A client that speaks TLS to a port without it.
      [Buffer.from([0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x03]), 400],
      ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400],
      [flood, 431],
    ] as const;
    for (const [bytes, status] of cases) {
      const text = await exchange(site.port, bytes);
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(text, new RegExp(`\\r\\n\\r\\n\\{"status":${status},"return":"[\\w ]+","code":"[A-Z_]+"\\}$`));
      assert.equal((await site.fetch("/")).status, 200);
    }
  });

  it("finds the same end of each request as a proxy before it", async () => {
    site = await ApiSite.start({});
    const hidden = "GET /nope HTTP/1.1\r\nHost: a\r\n\r\n";
    const post = (headers: string, body: string) => `POST /login HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n${body}`;
    const cases = [
      post(`Content-Length: 4\r\nContent-Length: ${hidden.length}`, hidden),
      post("Content-Length: 0\r\nTransfer-Encoding: chunked", `0\r\n\r\n${hidden}`),
      post("Transfer-Encoding: chunked, identity", `0\r\n\r\n${hidden}`),
      post("Transfer-Encoding: xchunked", `0\r\n\r\n${hidden}`),
      post("Transfer-Encoding : chunked", `0\r\n\r\n${hidden}`),
      post("Content-Length: +4", `abcd${hidden}`),
      post("Content-Length: 0x4", `abcd${hidden}`),
      post("Transfer-Encoding: chunked", `0x2\r\n{}\r\n0\r\n\r\n${hidden}`),
      post("Transfer-Encoding: chunked", `2;a=\n\r\n{}\r\n0\r\n\r\n${hidden}`),
      `GET / HTTP/1.1\r\nHost: a\r\nX: a\nTransfer-Encoding: chunked\r\n\r\n${hidden}`,
    ];
    // 404 would be the answer to the hidden request.
    for (const bytes of cases) assert.deepEqual(statusesIn(await exchange(site.port, bytes)), [400], bytes);
  });

  it("answers requests that come together in their order", async () => {
    site = await ApiSite.start({});
    const text = await exchange(site.port, pipelined(Array(50).fill("GET / HTTP/1.1"), "GET /nope HTTP/1.1"));
    assert.deepEqual(statusesIn(text), [...Array<number>(50).fill(200), 404]);
  });

  it("takes no token that cannot be one", async () => {
    site = await ApiSite.start({}, {}, { netapi_enable_clients: ["local"] });
    const get = (token: string) =>
      `GET /stats HTTP/1.1\r\nHost: a\r\nX-Auth-Token: ${token}\r\nConnection: close\r\n\r\n`;
    assert.deepEqual(statusesIn(await exchange(site.port, get("a".repeat(12_000)))), [401]);
    assert.deepEqual(statusesIn(await exchange(site.port, get("a".repeat(20_000)))), [431]);
    const chunk = { client: "local", tgt: "*", fun: "test.ping", token: "a".repeat(200_000) };
    const run = await site.fetch("/run", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(chunk),
    });
    assert.deepEqual(
      [run.status, await run.json()],
      [401, { status: 401, return: "Invalid token", code: "TOKEN_INVALID" }],
    );
    assert.equal((await site.fetch("/events?salt_token=../../x")).status, 401);
    assert.deepEqual(site.master.requests, []);
  });
});
