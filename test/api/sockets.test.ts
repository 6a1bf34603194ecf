import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { WebSocket } from "ws";
import { ApiSite } from "./api-site.ts";

const jid = "20261121070000123456";
const ready = "websocket client ready";
const received = "server received message";
let site: ApiSite;
let sockets: WebSocket[] = [];

class Client {
  readonly socket: WebSocket;
  readonly texts: string[] = [];
  closed: number | undefined;
  readonly opened: Promise<unknown>;
  #wake: (() => void) | undefined;

  constructor(path: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`ws://127.0.0.1:${site.port}${path}`, { headers });
    sockets.push(this.socket);
    this.opened = once(this.socket, "open");
    this.opened.catch(() => undefined);
    this.socket.on("message", (data) => {
      this.texts.push(String(data));
      this.#wake?.();
    });
    this.socket.on("close", (code) => {
      this.closed = code;
      this.#wake?.();
    });
    this.socket.on("error", () => undefined);
  }

  /** Opens, and waits for the answer to the ready text. */
  async start(): Promise<this> {
    await this.opened;
    this.socket.send(ready);
    assert.equal(await this.next(), received);
    return this;
  }

  async next(): Promise<string> {
    while (this.texts.length === 0 && this.closed === undefined)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const text = this.texts.shift();
    if (text === undefined) throw new Error(`closed with ${this.closed}`);
    return text;
  }
}

/** The status of the answer to an upgrade. */
async function statusOf(path: string, headers: Record<string, string> = {}): Promise<number> {
  const { socket } = new Client(path, headers);
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
  return response.statusCode;
}

describe("GET /ws", () => {
  afterEach(async () => {
    for (const socket of sockets) socket.terminate();
    sockets = [];
    await site.close();
  });

  it("gives events after the ready text, to every carrier of the session, and acknowledges every text", async () => {
    site = await ApiSite.start({});
    const id = await site.login();
    const clients = [
      new Client(`/ws/${id}`),
      new Client("/ws", { "X-Auth-Token": id }),
      new Client("/ws", { Cookie: `session_id=${id}` }),
      new Client(`/ws?token=${id}`),
    ];
    const silent = new Client(`/ws/${id}`);
    await silent.opened;
    for (const client of clients) await client.start();
    site.master.fire("my/tag", { a: 1, text: "ü".repeat(40_000) });
    const data = `data: {"tag": "my/tag", "data": {"a": 1, "text": "${"ü".repeat(40_000)}"}}\n\n`;
    for (const client of clients) assert.equal(await client.next(), data);
    silent.socket.send("hello");
    assert.equal(await silent.next(), received);
    silent.socket.send(ready);
    assert.equal(await silent.next(), received);
    for (const tag of ["b", "c".repeat(200)]) site.master.fire(tag, {});
    for (const client of [silent, ...clients]) {
      assert.equal(await client.next(), 'data: {"tag": "b", "data": {}}\n\n');
      assert.equal(await client.next(), `data: {"tag": "${"c".repeat(200)}", "data": {}}\n\n`);
    }
    assert.equal(site.api.shared.hub.counters.connections, 1);
  });

  it("refuses unknown sessions, other origins with a cookie, and plain requests before the upgrade", async () => {
    site = await ApiSite.start({}, { cors_origin: ["https://ui.example"] });
    const id = await site.login();
    for (const path of ["/ws", "/ws/deadbeef", "/ws?token=zz"]) assert.equal(await statusOf(path), 401, path);
    const cookie = { Cookie: `session_id=${id}` };
    assert.equal(await statusOf("/ws", { ...cookie, Origin: "https://evil.example" }), 403);
    for (const origin of ["https://ui.example", `http://127.0.0.1:${site.port}`])
      await new Client("/ws", { ...cookie, Origin: origin }).start();
    await new Client(`/ws/${id}`, { Origin: "https://evil.example" }).start();
    const plain = await site.fetch(`/ws/${id}`);
    assert.deepEqual([plain.status, plain.headers.get("upgrade")], [426, "websocket"]);
    assert.equal(((await plain.json()) as { status: number }).status, 426);
  });

  it("filters by tag", async () => {
    site = await ApiSite.start({});
    const client = await new Client(`/ws/${await site.login()}?tag=salt/job/*`).start();
    for (const tag of ["a", "salt/job/1/new"]) site.master.fire(tag, {});
    assert.equal(await client.next(), 'data: {"tag": "salt/job/1/new", "data": {}}\n\n');
  });

  it("ends with the session and with too large a text, and does not count as a request under way", async () => {
    site = await ApiSite.start({});
    const id = await site.login();
    const large = await new Client(`/ws/${id}`).start();
    large.socket.send("x".repeat(10_000));
    await once(large.socket, "close");
    assert.equal(large.closed, 1009);
    const client = await new Client(`/ws/${id}`).start();
    assert.equal(site.api.admission.slots.counters.underWay, 0);
    await site.fetch("/logout", { method: "POST", headers: { "X-Auth-Token": id } });
    await once(client.socket, "close");
    assert.equal(client.closed, 1008);
    while (site.api.admission.slots.counters.underWay !== 0 || site.api.streams.count !== 0) await turn();
  });

  it("closes the connection of a client that does not read, and of no other", async () => {
    site = await ApiSite.start({});
    const id = await site.login();
    const reading = await new Client(`/ws/${id}`).start();
    const stuck = await new Client(`/ws/${id}`).start();
    stuck.socket.pause();
    const pad = "x".repeat(500_000);
    for (let number = 0; site.api.streams.counters.closedUnread === 0; number += 1) {
      site.master.fire("big", { number, pad });
      assert.ok((await reading.next()).startsWith(`data: {"tag": "big", "data": {"number": ${number}, `));
    }
    assert.equal(site.api.streams.count, 1);
  });

  it("with format_events gives summaries of jobs and minions", async () => {
    site = await ApiSite.start({});
    const client = await new Client(`/ws/${await site.login()}?format_events`).start();
    const load = { jid, _stamp: "2026-11-21T07:00:00.123456", fun: "grains.items", tgt: "*", tgt_type: "glob" };
    site.master.fire(`salt/job/${jid}/new`, { ...load, minions: ["a", "b"] });
    const shown = { jid, start_time: load._stamp, fun: load.fun, tgt: "*", tgt_type: "glob" };
    const silent = { success: false };
    const running = { ...shown, minions: { a: silent, b: silent }, state: "running" };
    assert.deepEqual(JSON.parse(await client.next()), { jobs: { [jid]: running } });
    site.master.fireReturn(jid, "a", { os: "Debian" }, { fun: "grains.items" });
    const returned = { return: { os: "Debian" }, retcode: 0, success: true };
    assert.deepEqual(JSON.parse(await client.next()), {
      jobs: { [jid]: { ...running, minions: { a: returned, b: silent } } },
    });
    assert.deepEqual(JSON.parse(await client.next()), { minions: [{ grains: { os: "Debian" }, id: "a" }] });
    site.master.fireReturn(jid, "b", 5);
    const done = JSON.parse(await client.next()) as { jobs: Record<string, { state: string; minions: object }> };
    assert.equal(done.jobs[jid]?.state, "complete");
    site.master.fire("salt/key", { id: "c", act: "accept", result: true });
    assert.deepEqual(JSON.parse(await client.next()), {
      minions: [{ grains: { os: "Debian" }, id: "a" }, { id: "c" }],
    });
    site.master.fire("salt/presence/present", { present: ["c", "d"] });
    assert.deepEqual(JSON.parse(await client.next()), { minions: [{ id: "c" }, { id: "d" }] });
    site.master.fire("salt/key", { id: "c", act: "delete", result: true });
    assert.deepEqual(JSON.parse(await client.next()), { minions: [{ id: "d" }] });
  });

  it("takes no request that asks for another protocol: it is answered as if it did not", async () => {
    site = await ApiSite.start({});
    const body = JSON.stringify({ username: "ann", password: "right", eauth: "auto" });
    const socket = connect(site.port, "127.0.0.1");
    const head = `Host: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n`;
    socket.write(`GET / HTTP/1.1\r\n${head}\r\n`);
    const [first] = (await once(socket, "data")) as [Buffer];
    assert.match(first.toString(), /^HTTP\/1\.1 200 OK\r\n/);
    const type = "Content-Type: application/json\r\n";
    socket.write(`POST /login HTTP/1.1\r\n${head}${type}Content-Length: ${body.length}\r\n\r\n${body}`);
    const [second] = (await once(socket, "data")) as [Buffer];
    assert.match(second.toString(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*x-auth-token: [0-9a-f]{40}\r\n/i);
    socket.destroy();
  });
});
