import assert from "node:assert/strict";
import { once } from "node:events";
import type { OutgoingHttpHeaders } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connect } from "node:tls";
import { tlsOptions } from "../../../src/api/http/tls.ts";
import { apiHandshakeTimeoutMs } from "../../../src/limits.ts";
import { repositoryRoot } from "../../root.ts";
import { ApiSite } from "../api-site.ts";
import { exchange } from "./raw-client.ts";

const folder = join(repositoryRoot, "test", "fixtures", "tls");
const certificate = join(folder, "api.crt");
const key = join(folder, "api.key");
const otherKey = join(folder, "other.key");
const enabled = { netapi_enable_clients: ["local"] };
let site: ApiSite;

async function statusOf(path: string, headers: OutgoingHttpHeaders = {}): Promise<number | undefined> {
  const place = { port: site.port, host: "127.0.0.1", path, headers };
  const asked = request({ ...place, rejectUnauthorized: false, agent: false }).end();
  const [answer] = await once(asked, "response");
  answer.resume();
  return answer.statusCode;
}

describe("the HTTP API under TLS", () => {
  before(async () => {
    site = await ApiSite.start({}, { disable_ssl: false, ssl_crt: certificate, ssl_key: key }, enabled);
  });
  after(async () => await site.close());

  it("closes connections that speak no TLS or an old one, and serves others", async () => {
    assert.equal(await exchange(site.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "");
    assert.equal(await exchange(site.port, Buffer.alloc(2_000, 0x16)).then((text) => text.includes("HTTP")), false);
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT:@SECLEVEL=0" } as const;
    const socket = connect({ port: site.port, host: "127.0.0.1", rejectUnauthorized: false, ...old });
    const [error] = await once(socket, "error");
    assert.match(String(error.code), /^(?:ERR_SSL_\w*VERSION\w*|ECONNRESET)$/);
    assert.equal(await statusOf("/"), 200);
    assert.equal(await statusOf("/stats"), 401);
    assert.equal(await statusOf("/", { Upgrade: "h2c", Connection: "Upgrade" }), 200);
    assert.deepEqual(site.logged, []);
  });

  it("closes a connection whose handshake does not end, after its time", async () => {
    const { counters } = site.api.admission.connections;
    const before = counters.open;
    const startMs = performance.now();
    // The head of a record whose rest does not come.
    const text = await exchange(site.port, Buffer.from([0x16, 3, 1, 2, 0]));
    const tookMs = performance.now() - startMs;
    assert.equal(text, "");
    assert.ok(tookMs >= apiHandshakeTimeoutMs - 100, `closed after ${tookMs} ms`);
    while (counters.open > before) await turn();
  });

  it("takes a connection with a session for a proven one", async () => {
    const { connections } = site.api.admission;
    const session = { token: "f", user: "ann", eauth: "auto", start: 1, expire: 4e9, perms: [] };
    const id = site.api.sessions.open(session);
    const socket = connect({ port: site.port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const before = connections.counters.strangers;
    socket.write(`GET /stats HTTP/1.1\r\nHost: a\r\nX-Auth-Token: ${id}\r\n\r\n`);
    await once(socket, "data");
    assert.equal(connections.counters.strangers, before - 1);
    socket.destroy();
  });
});

describe("the files of TLS", () => {
  it("are read before the API listens, and a wrong one is named", () => {
    const cases = [
      [{ certificate: "/nonexistent", key, chain: undefined }, /ssl_crt cannot be read: ENOENT/],
      [{ certificate: key, key, chain: undefined }, /ssl_crt: \S+api\.key holds no certificate in PEM/],
      [{ certificate, key: certificate, chain: undefined }, /ssl_key: \S+api\.crt holds no private key/],
      [{ certificate, key: otherKey, chain: undefined }, /other\.key is not the key of the certificate \S+api\.crt/],
      [{ certificate, key, chain: otherKey }, /ssl_chain: \S+other\.key holds no certificate/],
    ] as const;
    for (const [files, message] of cases) assert.throws(() => tlsOptions(files), { code: "CONFIG_INVALID", message });
    assert.equal(tlsOptions({ certificate, key, chain: certificate }).cert.match(/BEGIN/g)?.length, 2);
  });
});
