/** Large requests take turns: their bytes are bounded, addresses alternate, and slow clients delay no others. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { opening, requestBytes } from "../../../bench/fleet/storm/zmtp.ts";
import { firstReadBytes, largeTurnMs } from "../../../src/limits.ts";
import { LargeTurns } from "../../../src/transport/zmtp/large-turns.ts";
import { until } from "./publish/subscribing.ts";
import { openServer, RawClient } from "./raw-client.ts";

class Client {
  readonly address: string;
  constructor(address: string) {
    this.address = address;
  }
}

const [one, two, three, four] = ["a", "a", "a", "b"].map((address) => new Client(address)) as [
  Client,
  Client,
  Client,
  Client,
];

describe("LargeTurns", () => {
  it("gives turns up to its bound, then to one address after the other, each in its order", () => {
    const turns = new LargeTurns<Client>(400);
    for (const address of ["c", "d", "e"]) assert.ok(turns.ask(new Client(address), 100, 0));
    assert.ok(turns.ask(one, 100, 0));
    assert.ok(turns.ask(one, 100, 0), "it has a turn already");
    const late = new Client("a");
    assert.deepEqual(
      [two, three, late, four].map((client) => turns.ask(client, 100, 0)),
      [false, false, false, false],
    );
    assert.equal(turns.next(0), undefined);
    assert.equal(turns.leave(three), false, "it waited, so that it leaves no room");
    const order: (Client | undefined)[] = [];
    for (let done: Client | undefined = one; done !== undefined; done = order.at(-1)) {
      turns.leave(done);
      order.push(turns.next(0));
    }
    assert.deepEqual(order, [two, four, late, undefined]);
    assert.deepEqual([turns.bytes, [...turns.waiting()].length, turns.waits], [300, 0, 4]);
  });

  it("lets a body of any size begin", () => {
    const turns = new LargeTurns<Client>(400);
    assert.ok(turns.ask(one, 1_000_000, 0));
    assert.equal(turns.bytes, 100);
  });

  it("counts a body for a bounded time while others wait, and longer if none waits", () => {
    const turns = new LargeTurns<Client>(100);
    for (const client of [one, two, three, four]) assert.ok(turns.ask(client, 25, 0));
    assert.equal(turns.expire(10 * largeTurnMs), false, "none waits");
    const late = new Client("c");
    assert.equal(turns.ask(late, 25, largeTurnMs), false);
    assert.ok(turns.expire(largeTurnMs));
    assert.equal(turns.next(largeTurnMs), late);
    assert.ok(turns.ask(one, 25, largeTurnMs), "the slow client goes on with its body");
    for (const client of [one, two, three, four]) turns.leave(client);
    assert.equal(turns.bytes, 25);
  });
});

describe("a fleet that sends large requests at once", { timeout: 60_000 }, () => {
  const body = Buffer.alloc(200_000, "large");
  const bounds = { strangersLargeBytesMax: 800_000, strangersHeldBytesMax: 1_400_000 };
  const connectionCount = 40;

  /** Clients that each send one large request, but for its last byte. */
  async function begun(port: number): Promise<{ clients: RawClient[]; last: Buffer }> {
    const request = requestBytes(body);
    const clients: RawClient[] = [];
    for (let index = 0; index < connectionCount; index += 1) {
      const client = await RawClient.open(port);
      client.send(opening("REQ"));
      await client.take(1);
      client.send(request.subarray(0, -1));
      clients.push(client);
    }
    return { clients, last: request.subarray(-1) };
  }

  it("is read a few at a time: what waits holds only its first bytes, and no connection is closed", async () => {
    const { server, messages } = await openServer({ bounds });
    try {
      const { clients, last } = await begun(server.port);
      const { turns } = server.groups.strangers;
      await until(() => [...turns.waiting()].length === connectionCount - 4, "36 connections that wait");
      assert.equal(turns.bytes, 800_000);
      await until(() => server.heldBytes >= 4 * (body.length - 1), "all bytes of the first four");
      assert.ok(server.heldBytes <= 4 * body.length + (connectionCount - 4) * firstReadBytes, `${server.heldBytes}`);
      for (const client of clients) client.send(last);
      await until(() => messages.length === connectionCount, "all requests");
      assert.ok(messages.every(({ parts }) => parts[1]?.equals(body)));
      assert.deepEqual([server.closed.heldBytes, server.heldBytes, turns.bytes], [0, 0, 0]);
    } finally {
      await server.close(0);
    }
  });

  it("goes on when clients leave in the middle, and when waiting ones prove themselves", async () => {
    const { server, messages } = await openServer({ bounds });
    try {
      const { clients, last } = await begun(server.port);
      const { strangers, proven } = server.groups;
      await until(() => [...strangers.turns.waiting()].length === connectionCount - 4, "36 connections that wait");
      for (const peer of [...strangers.turns.waiting()].slice(-6)) server.prove(peer);
      assert.equal([...strangers.turns.waiting()].length, connectionCount - 10);
      for (const client of clients.slice(0, 4)) client.close();
      for (const client of clients.slice(4)) client.send(last);
      await until(() => messages.length === connectionCount - 4, "the requests of all that stayed");
      assert.deepEqual([strangers.turns.bytes, proven.turns.bytes, server.heldBytes], [0, 0, 0]);
    } finally {
      await server.close(0);
    }
  });
});
