/** Requests that strangers begin and do not finish are charged to their address, and do not delay minions. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { opening, requestBytes } from "../../../bench/fleet/storm/zmtp.ts";
import { largeRequestBytes, owingConnectionsMax } from "../../../src/limits.ts";
import type { RouterServerOptions } from "../../../src/transport/zmtp/router-options.ts";
import type { RouterServer } from "../../../src/transport/zmtp/router-server.ts";
import { until } from "./publish/subscribing.ts";
import { type OpenServer, openServer, RawClient } from "./raw-client.ts";

const stranger = "127.0.0.2";
const other = "127.0.0.3";
const messageBytesMax = 400_000;
const message = requestBytes(Buffer.alloc(messageBytesMax - 1_000));
const large = requestBytes(Buffer.alloc(2 * largeRequestBytes));
const small = requestBytes(Buffer.alloc(largeRequestBytes / 2));

type Opened = OpenServer & { readonly owing: string[] };

async function open(options: Partial<RouterServerOptions> = {}): Promise<Opened> {
  const owing: string[] = [];
  const opened = await openServer({ messageBytesMax, onOwing: (address) => owing.push(address), ...options });
  return { ...opened, owing };
}

async function greeted(server: RouterServer, from: string): Promise<RawClient> {
  const client = await RawClient.open(server.port, from);
  client.send(opening("REQ"));
  await client.take(1);
  return client;
}

/** Sends most of a message, waits until the server has it, and leaves. */
async function leaveInTheMiddle(server: RouterServer, from: string): Promise<void> {
  const client = await greeted(server, from);
  client.send(message.subarray(0, 300_000));
  await until(() => server.heldBytes >= 299_000, "most of a message");
  client.close();
  await until(() => server.heldBytes === 0, "the end of the connection");
}

describe("an address that does not finish its requests", { timeout: 60_000 }, () => {
  it("owes after more than one message: its large requests are refused by their first bytes, its small ones and others' are not", async () => {
    const { server, messages, owing } = await open();
    try {
      await leaveInTheMiddle(server, stranger);
      assert.deepEqual(owing, [], "a connection may break");
      const again = await greeted(server, stranger);
      again.send(message);
      await until(() => messages.length === 1, "the message, sent again");
      await leaveInTheMiddle(server, stranger);
      assert.deepEqual(owing, [stranger]);
      assert.ok(server.unfinishedChargedBytes >= 600_000);

      const refused = await greeted(server, stranger);
      refused.send(large.subarray(0, 3_000));
      await refused.closed;
      assert.equal(server.closed.owesUnfinished, 1);
      for (const [from, bytes] of [
        [stranger, small],
        [other, large],
      ] as const) {
        const before = messages.length;
        (await greeted(server, from)).send(bytes);
        await until(() => messages.length > before, "a request");
      }
      assert.deepEqual(owing, [stranger], "said once");
    } finally {
      await server.close(0);
    }
  });

  it("owes also if it lets the time run out, or strangers hold too much because of it", async () => {
    for (const [reason, bounds] of [
      ["messageTimeout", { greetingTimeoutMs: 300, messageTimeoutMs: 300, overdueLookMs: 10 }],
      ["heldBytes", { strangersHeldBytesMax: messageBytesMax }],
    ] as const) {
      const { server, owing } = await open({ bounds });
      try {
        const clients: RawClient[] = [];
        for (let count = 0; count < 4; count += 1) {
          const client = await greeted(server, stranger);
          client.send(message.subarray(0, 300_000));
          clients.push(client);
        }
        await until(() => owing.length === 1, `a debt by ${reason}`);
        assert.ok(server.closed[reason] >= 2, `${server.closed[reason]} closed for ${reason}`);
        for (const client of clients) client.close();
      } finally {
        await server.close(0);
      }
    }
  });

  it("may have few connections that prove nothing", async () => {
    const { server } = await open();
    try {
      for (let count = 0; count < 2; count += 1) await leaveInTheMiddle(server, stranger);
      const clients = await Promise.all(
        Array.from({ length: owingConnectionsMax }, () => RawClient.open(server.port, stranger)),
      );
      await until(() => server.strangerCount === owingConnectionsMax, "its connections");
      const more = await RawClient.open(server.port, stranger);
      await more.closed;
      assert.deepEqual([server.closed.owesUnfinished, server.strangerCount], [1, owingConnectionsMax]);
      const elsewhere = await greeted(server, other);
      for (const client of [...clients, elsewhere]) client.close();
    } finally {
      await server.close(0);
    }
  });

  it("owes nothing if a connection of it has proved something, before or after, or if it is a proxy", async () => {
    const proving: { server?: RouterServer } = {};
    const received: unknown[] = [];
    const { server, owing } = await open({
      isProxy: (address) => address === other,
      onMessage: (peer, parts) => {
        received.push(parts);
        proving.server?.prove(peer);
      },
    });
    proving.server = server;
    try {
      for (let count = 0; count < 3; count += 1) await leaveInTheMiddle(server, other);
      assert.deepEqual(owing, []);
      for (let count = 0; count < 2; count += 1) await leaveInTheMiddle(server, stranger);
      assert.deepEqual(owing, [stranger]);
      const minion = await greeted(server, stranger);
      minion.send(small);
      await until(() => received.length === 1, "a proof");
      for (let count = 0; count < 3; count += 1) await leaveInTheMiddle(server, stranger);
      minion.close();
      await until(() => server.connectionCount === 0, "the end of the proven connection");
      await leaveInTheMiddle(server, stranger);
      const again = await greeted(server, stranger);
      again.send(message);
      await until(() => received.length === 2, "a large request on a new connection");
      assert.deepEqual([owing.length, server.closed.owesUnfinished], [1, 0]);
    } finally {
      await server.close(0);
    }
  });
});
