import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { opening, requestBytes } from "../../../bench/fleet/storm/zmtp.ts";
import { until } from "./publish/subscribing.ts";
import { openServer, RawClient } from "./raw-client.ts";

async function greeted(port: number): Promise<RawClient> {
  const client = await RawClient.open(port);
  client.send(opening("REQ"));
  await client.take(1);
  return client;
}

describe("RouterServer", { timeout: 60_000 }, () => {
  it("closes a new connection that sends more commands than one of its age can have had heartbeats", async () => {
    const { server } = await openServer();
    const honest = await greeted(server.port);
    honest.send(Buffer.alloc(3 * 60, Buffer.of(4, 1, 0)));
    const flooding = await greeted(server.port);
    flooding.send(Buffer.alloc(3 * 300, Buffer.of(4, 1, 0)));
    await flooding.closed;
    assert.equal(server.closed.commands, 1);
    assert.equal(server.connectionCount, 1);
    honest.close();
    await server.close(0);
  });

  it("keeps the memory of an unfinished message for the next one", async () => {
    const { server, messages } = await openServer();
    const leaving = await greeted(server.port);
    leaving.send(requestBytes(Buffer.alloc(40_000)).subarray(0, 39_000));
    await until(() => server.heldBytes >= 39_000, "server.heldBytes >= 39_000");
    const { spareBytes } = server;
    leaving.close();
    await until(() => server.connectionCount === 0, "server.connectionCount === 0");
    assert.deepEqual([server.heldBytes, server.spareBytes], [0, spareBytes + 64 * 1_024]);
    assert.deepEqual(messages, []);
    await server.close(0);
  });

  it("lets a connection send what its age allows", async () => {
    const { server } = await openServer({ bounds: { commandsAtOnceMax: 1, commandsPerSecondMax: 1e9 } });
    const honest = await greeted(server.port);
    honest.send(Buffer.concat([Buffer.alloc(3 * 300, Buffer.of(4, 1, 0)), requestBytes(Buffer.from("alive"))]));
    await until(() => server.unansweredCount === 1, "server.unansweredCount === 1");
    assert.equal(server.connectionCount, 1);
    honest.close();
    await server.close(0);
  });
});
