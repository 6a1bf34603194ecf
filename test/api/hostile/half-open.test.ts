/** Clients that are gone without a word, or read nothing of what the kernel has buffered: their connections are closed on time, others go on. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "node:tls";
import { repositoryRoot } from "../../root.ts";
import { ApiSite } from "../api-site.ts";
import { canDie, MortalPeer } from "./dead-peer.ts";
import { open } from "./raw-client.ts";

const folder = join(repositoryRoot, "test", "fixtures", "tls");
const tls = { disable_ssl: false, ssl_crt: join(folder, "api.crt"), ssl_key: join(folder, "api.key") };
/** Shorter than ours: a test does not wait for a minute. */
const times = { unreadMs: 1_500, streamPingMs: 500, socketSilentMs: 4_000 };
const session = { token: "f", user: "ann", eauth: "auto", start: 1, expire: 4e9, perms: [] };
const skip = canDie ? false : "the packet filter of a socket is Linux's";
let site: ApiSite;

const eventsHead = (id: string) => `GET /events HTTP/1.1\r\nHost: a\r\nX-Auth-Token: ${id}\r\n\r\n`;

/** Far less than each of the times above. A look at every turn of the loop would take a whole core for half a minute. */
const lookMs = 5;

/** Waits until `isTrue`. The test's own deadline ends it. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await pause(lookMs);
}

/** How long a connection lasts after `begin`, in which its client dies. */
async function lastsMs(begin: () => void): Promise<number> {
  const { counters } = site.api.admission.connections;
  const before = counters.open;
  const startMs = performance.now();
  begin();
  await until(() => counters.open < before);
  return performance.now() - startMs;
}

describe("clients that are gone without a word", { skip, timeout: 60_000 }, () => {
  afterEach(async () => await site.close());

  it("lose their stream of events after a ping that did not arrive, and others go on", async () => {
    site = await ApiSite.start({}, {}, {}, times);
    const id = site.api.sessions.open(session);
    const reading = await open(site.port);
    reading.write(eventsHead(id));
    const dead = await MortalPeer.open(site.port);
    dead.socket.write(eventsHead(id));
    const { streams, admission } = site.api;
    await until(() => streams.count === 2 && dead.socket.bytesRead > 0);
    const tookMs = await lastsMs(() => dead.die());
    assert.ok(tookMs >= times.unreadMs, `closed after ${tookMs} ms`);
    assert.ok(tookMs < 3 * times.unreadMs + 2 * times.streamPingMs, `closed after ${tookMs} ms`);
    assert.deepEqual([streams.count, admission.connections.counters.timedOut], [1, 1]);
    assert.equal(admission.streamSlots.openOf("auto ann"), 1);
    dead.socket.destroy();
    reading.destroy();
  });

  it("lose their answer line by line and their WebSocket, which pings without an answer end as well", async () => {
    const publish = () => ({ load: { jid: "20261126000000000000", minions: ["a"] } });
    const options = { netapi_enable_clients: ["local"], timeout: 1, gather_job_timeout: 300, rest_timeout: 300 };
    site = await ApiSite.start({ publish }, {}, options, times);
    const id = site.api.sessions.open(session);
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    const head = `GET /ws/${id} HTTP/1.1\r\nHost: a\r\n${upgrade}Sec-WebSocket-Key: ${"A".repeat(22)}==\r\n\r\n`;
    const { streams, admission } = site.api;
    const gone = await MortalPeer.open(site.port);
    gone.socket.write(head);
    await until(() => streams.count === 1 && gone.socket.bytesRead > 0);
    await lastsMs(() => gone.die());
    assert.deepEqual(
      [streams.count, streams.counters.closedSilent, admission.connections.counters.timedOut],
      [0, 0, 1],
    );
    // Reads all, so that the system sees a living connection.
    const silent = await open(site.port);
    silent.resume();
    silent.write(head);
    await until(() => streams.count === 1);
    const tookMs = await lastsMs(() => undefined);
    assert.ok(tookMs >= times.socketSilentMs, `closed after ${tookMs} ms`);
    assert.deepEqual([streams.count, streams.counters.closedSilent], [0, 1]);
    const lines = await MortalPeer.open(site.port);
    const body = JSON.stringify({ client: "local", tgt: "*", fun: "test.ping" });
    const accept = `Accept: application/x-ndjson\r\nX-Auth-Token: ${id}\r\nContent-Type: application/json\r\n`;
    lines.socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${accept}Content-Length: ${body.length}\r\n\r\n${body}`);
    await until(() => lines.socket.bytesRead > 0);
    assert.equal(admission.streamSlots.openOf("auto ann"), 1);
    await lastsMs(() => lines.die());
    await until(() => admission.slots.counters.underWay === 0);
    assert.equal(admission.streamSlots.openOf("auto ann"), 0);
    for (const { socket } of [gone, lines]) socket.destroy();
  });
});

describe("answers that their client does not read", { skip, timeout: 60_000 }, () => {
  afterEach(async () => await site.close());

  for (const [name, block] of [
    ["in the clear", {}],
    ["under TLS", tls],
  ] as const)
    it(`are closed on time, ${name}, also if the kernel has buffered them`, async () => {
      const www = mkdtempSync(join(tmpdir(), "saltworks-unread-"));
      // The kernel takes the first at once, and less than a half of the second.
      for (const [file, bytes] of Object.entries({ kernel: 1_000_000, large: 20_000_000 }))
        writeFileSync(join(www, file), Buffer.alloc(bytes));
      site = await ApiSite.start({}, { ...block, static: www }, {}, times);
      const { port } = site;
      for (const file of ["kernel", "large"]) {
        const client =
          name === "under TLS" ? connect({ port, host: "127.0.0.1", rejectUnauthorized: false }) : await open(port);
        if (name === "under TLS") await once(client, "secureConnect");
        client.on("error", () => undefined).pause();
        const tookMs = await lastsMs(() => void client.write(`GET /static/${file} HTTP/1.1\r\nHost: a\r\n\r\n`));
        assert.ok(tookMs >= times.unreadMs && tookMs < 4 * times.unreadMs, `${file}: closed after ${tookMs} ms`);
        client.destroy();
      }
      assert.equal(site.api.admission.connections.counters.timedOut, 2);
      assert.equal(site.api.admission.answers.counters.open, 0);
      rmSync(www, { recursive: true });
    });
});
