import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection } from "node:net";
import { afterEach, describe, it } from "node:test";
import { metricsHeaderBytesMax } from "../../../src/limits.ts";
import { MetricsServer, type MetricsServerOptions } from "../../../src/master/ports/metrics-server.ts";

const opened: MetricsServer[] = [];

async function open(read: MetricsServerOptions["read"] = () => Promise.resolve("x 1\n")): Promise<MetricsServer> {
  const server = await MetricsServer.listen({ address: "127.0.0.1", port: 0, read, onFault: () => undefined });
  opened.push(server);
  return server;
}

const urlOf = ({ port }: MetricsServer, path = "/metrics") => `http://127.0.0.1:${port}${path}`;

/** What the server sends until it closes the connection. */
async function exchange({ port }: MetricsServer, request: string): Promise<string> {
  const socket = createConnection(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.write(request);
  await once(socket, "close");
  return Buffer.concat(chunks).toString();
}

describe("MetricsServer", () => {
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((server) => server.close()));
  });

  it("answers GET and HEAD of /metrics in Prometheus' format", async () => {
    const server = await open();
    const got = await fetch(urlOf(server, "/metrics?ignored=1"));
    assert.equal(got.status, 200);
    assert.equal(got.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    assert.equal(await got.text(), "x 1\n");
    const head = await fetch(urlOf(server), { method: "HEAD", headers: { "accept-encoding": "identity" } });
    assert.deepEqual([head.status, head.headers.get("content-length"), await head.text()], [200, "4", ""]);
  });

  it("answers in the form that the client prefers, and packed if the client takes that", async () => {
    const server = await open((form) => Promise.resolve(`# ${form}\n`));
    const asked = async (accept: string, encoding: string) => {
      const got = await fetch(urlOf(server), { headers: { accept, "accept-encoding": encoding } });
      const { headers } = got;
      return [await got.text(), headers.get("content-type")?.split(";")[0], headers.get("content-encoding")].join("|");
    };
    const open1 = "application/openmetrics-text;version=1.0.0";
    // As Prometheus 2 asks.
    const ofPrometheus = `${open1},application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`;
    assert.equal(await asked(ofPrometheus, "gzip"), "# openmetrics\n|application/openmetrics-text|gzip");
    assert.equal(await asked(`${open1};q=0.5,text/plain;q=0.9`, "identity"), "# prometheus\n|text/plain|");
    assert.equal(await asked("application/openmetrics-text;version=2.0.0", "br"), "# prometheus\n|text/plain|");
    assert.equal(await asked(`${open1};q=0`, "gzip;q=0"), "# prometheus\n|text/plain|");
    assert.equal(await asked("*/*", "deflate, gzip;q=0.5"), "# prometheus\n|text/plain|gzip");
  });

  it("refuses every other path, method, and anything with a body", async () => {
    const server = await open(() => assert.fail("nothing is read for them"));
    assert.equal((await fetch(urlOf(server, "/"))).status, 404);
    const post = await fetch(urlOf(server), { method: "POST" });
    assert.deepEqual([post.status, post.headers.get("allow")], [405, "GET, HEAD"]);
    assert.equal((await fetch(urlOf(server), { method: "DELETE" })).status, 405);
    const withBody = "GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nsome";
    assert.match(await exchange(server, withBody), /^HTTP\/1\.1 413 /);
    const chunked = "GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    assert.match(await exchange(server, chunked), /^HTTP\/1\.1 413 /);
  });

  it("refuses a header over its limit", async () => {
    const server = await open();
    const header = `GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(metricsHeaderBytesMax)}\r\n\r\n`;
    assert.match(await exchange(server, header), /^HTTP\/1\.1 431 /);
  });

  it("answers that the metrics could not be read, and leaves the cause to the log", async () => {
    const server = await open(() => Promise.reject(new Error("a secret")));
    const got = await fetch(urlOf(server));
    assert.equal(got.status, 500);
    assert.doesNotMatch(await got.text(), /secret/);
  });

  it("names its options when the port is taken", async () => {
    const { port } = await open();
    const second = MetricsServer.listen({
      address: "127.0.0.1",
      port,
      read: () => Promise.resolve(""),
      onFault: () => undefined,
    });
    await assert.rejects(second, {
      code: "MASTER_RUNNING",
      message: new RegExp(`127\\.0\\.0\\.1 port ${port} \\(metrics_interface, metrics_port\\): .*EADDRINUSE`),
    });
  });
});
