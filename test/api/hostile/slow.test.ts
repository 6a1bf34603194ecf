/** Clients that send a byte now and then: their requests end with their time, and others are served meanwhile. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { FastifyInstance } from "fastify";
import { buildServer } from "../../../src/api/server.ts";
import { apiHeadersTimeoutMs, apiRequestTimeoutMs } from "../../../src/limits.ts";
import { ApiSite } from "../api-site.ts";
import { open } from "./raw-client.ts";

const crowd = 50;
let site: ApiSite;
let app: FastifyInstance;
let port = 0;

/** Sends one byte after the other until the server closes the connection. @returns what it answered */
async function trickle(head: string, rest: string): Promise<string> {
  const socket: Socket = await open(port);
  let text = "";
  socket.on("data", (part) => {
    text += part.toString();
  });
  socket.write(head);
  let sent = 0;
  const timer = setInterval(() => {
    socket.write(rest[sent % rest.length] ?? "");
    sent += 1;
  }, 100);
  await once(socket, "close");
  clearInterval(timer);
  assert.ok(sent > 5, `the connection was closed after ${sent} bytes`);
  return text;
}

const errorOf = (text: string) => JSON.parse(text.slice(text.indexOf("\r\n\r\n"))) as unknown;

describe("slow requests", () => {
  beforeEach(async () => {
    site = await ApiSite.start({});
    app = buildServer(site.api);
    assert.deepEqual(
      [app.server.headersTimeout, app.server.requestTimeout],
      [apiHeadersTimeoutMs, apiRequestTimeoutMs],
    );
    // The same server with shorter times: a test does not wait for a minute.
    app.server.headersTimeout = 1_000;
    app.server.requestTimeout = 2_000;
    await app.listen({ port: 0, host: "127.0.0.1" });
    port = (app.server.address() as AddressInfo).port;
  });
  afterEach(async () => {
    await app.close();
    await site.close();
  });

  it("end with 408 in JSON, whether the header or the body trickles, and others are served", async () => {
    const login = "POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{";
    const slow = Array.from({ length: crowd }, async (_, index) =>
      index % 2 === 0 ? await trickle("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", "a") : await trickle(login, " "),
    );
    let isOver = false;
    const all = Promise.all(slow).finally(() => {
      isOver = true;
    });
    const honest = async () => {
      let count = 0;
      for (; !isOver; count += 1) assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 200);
      return count;
    };
    const [served, texts] = await Promise.all([honest(), all]);
    for (const text of texts) {
      assert.match(text, /^HTTP\/1\.1 408 /);
      assert.deepEqual(errorOf(text), { status: 408, return: "Request Timeout", code: "REQUEST_SLOW" });
    }
    assert.ok(served > crowd, `${served} honest requests`);
    const { bodies, slots } = site.api.admission;
    assert.deepEqual([bodies.counters.heldBytes, slots.counters.underWay], [0, 0]);
  });
});
