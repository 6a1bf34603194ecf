import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Bodies } from "../../../src/api/admission/bodies.ts";
import { Connections } from "../../../src/api/admission/connections.ts";
import {
  apiRequestsOfAddressMax,
  apiRequestsOfUserMax,
  apiSessionsOfUserMax,
  apiStrangerParseBytesPerSecond,
  apiStrangerParseWaitMs,
} from "../../../src/limits.ts";
import { ApiSite } from "../api-site.ts";
import { loginUntil } from "./hanging-login.ts";
import { exchange, open, pipelined, statusesIn } from "./raw-client.ts";

let site: ApiSite;
const right = JSON.stringify({ username: "ann", password: "right", eauth: "auto" });
const ping = JSON.stringify({ client: "local_async", tgt: "*", fun: "test.ping" });
const headers = { "content-type": "application/json" };

/** A socket as `Connections` sees it. */
function socketOf(remoteAddress: string, remotePort: number): Socket {
  return Object.assign(new EventEmitter(), { remoteAddress, remotePort, localPort: 8_000 }) as unknown as Socket;
}

describe("connections of strangers", () => {
  it("over their bound give way to the newest: the oldest of the address with the most", () => {
    const ended: string[] = [];
    const end = (socket: Socket) => {
      ended.push(`${socket.remoteAddress} ${socket.remotePort}`);
      socket.emit("close");
    };
    const connections = new Connections(end, { all: 5, strangers: 4 });
    const proven = socketOf("192.0.2.9", 1);
    connections.accept(proven);
    connections.prove(proven);
    for (let port = 1; port <= 4; port += 1) connections.accept(socketOf("192.0.2.1", port));
    connections.accept(socketOf("192.0.2.2", 1));
    connections.accept(socketOf("192.0.2.1", 5));
    connections.accept(socketOf("2001:db8::1", 1));
    assert.deepEqual(ended, ["192.0.2.1 1", "192.0.2.1 2", "192.0.2.1 3"]);
    assert.deepEqual([connections.counters.open, connections.counters.strangers], [5, 4]);
    assert.equal(connections.counters.displaced, 3);
  });

  it("are all closed before a proven one, and the newest is refused where it is the only one", () => {
    const ended: Socket[] = [];
    const connections = new Connections((socket) => void ended.push(socket), { all: 2, strangers: 2 });
    for (const port of [1, 2]) {
      const proven = socketOf("192.0.2.1", port);
      connections.accept(proven);
      connections.prove(proven);
    }
    const newest = socketOf("192.0.2.2", 1);
    connections.accept(newest);
    assert.deepEqual(ended, [newest]);
    assert.equal(connections.counters.refused, 1);
  });

  it("leave nothing behind when they close", async () => {
    site = await ApiSite.start({});
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open(site.port)));
    const { counters } = site.api.admission.connections;
    while (counters.strangers < 20) await turn();
    for (const socket of sockets) socket.destroy();
    while (counters.open > 0) await turn();
    assert.equal(counters.strangers, 0);
    await site.close();
  });
});

describe("requests of many", () => {
  afterEach(async () => await site.close());

  it("without a session get 429 over the bound of their address, and sessions are served meanwhile", async () => {
    let isHanging = false;
    site = await ApiSite.start({
      mk_token: loginUntil(() => isHanging),
      publish: () => ({ load: { jid: "1", minions: [] } }),
    });
    const id = await site.login();
    isHanging = true;
    const { counters } = site.api.admission.slots;
    const ending = new AbortController();
    const flood = Array.from({ length: apiRequestsOfAddressMax }, () =>
      site.fetch("/login", { method: "POST", body: right, headers, signal: ending.signal }).catch(() => undefined),
    );
    while (counters.ofStrangers < apiRequestsOfAddressMax) await turn();
    const refused = await site.fetch("/login", { method: "POST", body: right, headers });
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "2"]);
    const message = "Too many requests of this address are under way";
    assert.deepEqual(await refused.json(), { status: 429, return: message, code: "ADDRESS_BUSY" });
    assert.equal((await site.fetch("/stats", { headers: { "X-Auth-Token": id } })).status, 200);
    const text = await exchange(site.port, pipelined(Array(200).fill("GET /login HTTP/1.1"), "GET /nope HTTP/1.1"));
    assert.deepEqual(new Set(statusesIn(text)), new Set([429]));
    ending.abort();
    await Promise.all(flood);
    while (counters.underWay > 0) await turn();
    assert.equal(counters.ofStrangers, 0);
    assert.equal((await site.fetch("/login")).status, 200);
  });

  it("of one user get 429 over the bound of a user, and another user is served meanwhile", async () => {
    const hanging = new Set<unknown>();
    site = await ApiSite.start(
      {
        // A login that is sent again has the same token.
        mk_token: (load) => {
          const name = String(load.get("username"));
          return { start: 1, expire: 4e9, name, eauth: "auto", token: `token of ${name}` };
        },
        publish: (load) => {
          const { token } = Object.fromEntries(load.get("kwargs") as Map<string, unknown>);
          if (hanging.has(token)) return undefined;
          return { enc: "clear", load: { jid: "1", minions: ["a"] } };
        },
      },
      {},
      // No request gives up before the last one has come, however slow the machine is.
      { netapi_enable_clients: ["local_async"], timeout: 300 },
    );
    const [ann, bob] = [await site.login("ann"), await site.login("bob")];
    hanging.add("token of ann");
    const ending = new AbortController();
    const as = (id: string) => ({ method: "POST", body: ping, headers: { ...headers, "X-Auth-Token": id } });
    const flood = Array.from({ length: apiRequestsOfUserMax }, () =>
      site.fetch("/", { ...as(ann), signal: ending.signal }).catch(() => undefined),
    );
    const { counters } = site.api.admission.slots;
    while (counters.underWay < apiRequestsOfUserMax) await turn();
    assert.equal((await site.fetch("/", as(ann))).status, 429);
    assert.equal((await site.fetch("/", as(bob))).status, 200);
    ending.abort();
    await Promise.all(flood);
    while (counters.underWay > 0) await turn();
  });

  it("with unfinished bodies keep no places, and their bytes are bounded", async () => {
    site = await ApiSite.start({});
    const { bodies, slots } = site.api.admission;
    const head = "POST /run HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n";
    const sockets = await Promise.all(Array.from({ length: apiRequestsOfAddressMax + 10 }, () => open(site.port)));
    for (const socket of sockets) socket.write(head + "x".repeat(1_000));
    while (bodies.counters.strangersHeldBytes < sockets.length * 1_000) await turn();
    assert.equal(slots.counters.underWay, 0);
    assert.notEqual(await site.login(), "");
    for (const socket of sockets) socket.destroy();
    while (bodies.counters.heldBytes > 0) await turn();
    assert.equal(bodies.counters.cut, sockets.length);
    assert.equal(bodies.counters.strangersHeldBytes, 0);
  });

  it("that open sessions without end close those of their own user that were used least recently", async () => {
    site = await ApiSite.start({});
    const { sessions } = site.api;
    const session = { token: "f", eauth: "auto", start: 1, expire: 4e9, perms: [] };
    const bob = sessions.open({ ...session, user: "bob" });
    const first = sessions.open({ ...session, user: "ann" });
    const second = sessions.open({ ...session, user: "ann" });
    for (let count = 2; count < apiSessionsOfUserMax; count += 1) sessions.open({ ...session, user: "ann" });
    sessions.find(first);
    const last = sessions.open({ ...session, user: "ann" });
    assert.equal(sessions.find(second), undefined);
    for (const id of [bob, first, last]) assert.ok(sessions.find(id) !== undefined);
    assert.equal(sessions.counters.displaced, 1);
  });

  it("never read their events: their streams end, and others lose nothing", async () => {
    site = await ApiSite.start({});
    const id = await site.login();
    const stuck = await open(site.port);
    stuck.pause();
    stuck.write(`GET /events HTTP/1.1\r\nHost: a\r\nX-Auth-Token: ${id}\r\n\r\n`);
    const reading = await open(site.port);
    let text = "";
    reading.on("data", (part) => {
      text += part.toString("latin1");
    });
    reading.write(`GET /events HTTP/1.1\r\nHost: a\r\nX-Auth-Token: ${id}\r\n\r\n`);
    const { streams } = site.api;
    while (streams.count < 2) await turn();
    while (site.api.shared.hub.counters.connections === 0) await turn();
    let fired = 0;
    while (streams.counters.closedUnread === 0) {
      fired += 1;
      site.master.fire(`n/${fired}`, { text: "x".repeat(100_000) });
      while (!text.includes(`"tag": "n/${fired}"`)) await turn();
      if (fired % 20 === 0) text = text.slice(-200_000);
    }
    assert.equal(streams.count, 1);
    stuck.destroy();
    reading.destroy();
  });
});

describe("larger bodies of strangers", () => {
  it("are parsed in turns, and are refused when too many wait", async () => {
    const bodies = new Bodies();
    await bodies.turn(1_000, true);
    await bodies.turn(200, false);
    assert.equal(bodies.counters.paced, 0);
    await bodies.turn((apiStrangerParseBytesPerSecond * apiStrangerParseWaitMs) / 1_000 + 60_000, true);
    await assert.rejects(async () => await bodies.turn(5_000, true), { status: 503 });
    assert.equal(bodies.counters.refused, 1);
    const later = new Bodies();
    await later.turn(3_000, true);
    await later.turn(3_000, true);
    assert.equal(later.counters.paced, 1);
  });
});
