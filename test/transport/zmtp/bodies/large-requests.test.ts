/** Large requests of proven connections, from the socket into the memory that a worker reads. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { opening, requestBytes } from "../../../../bench/fleet/storm/zmtp.ts";
import { SharedMemory } from "../../../../src/transport/zmtp/bodies/shared-memory.ts";
import { until } from "../publish/subscribing.ts";
import { openServer, RawClient } from "../raw-client.ts";

const noBytes = Buffer.alloc(0);

describe("RouterServer", () => {
  it("reads large requests of a proven connection to where a worker finds them, also between pauses, and writes over none that is kept", async () => {
    const memory = new SharedMemory();
    const kept: Buffer[] = [];
    const { server } = await openServer({
      memory,
      onMessage: (peer, parts) => {
        const frame = parts[1] ?? noBytes;
        if (peer.isProven) kept.push(memory.keep(frame) ?? noBytes);
        else server.prove(peer);
      },
    });
    const client = await RawClient.open(server.port);
    client.send(opening("REQ"));
    client.send(requestBytes(Buffer.of(1)));
    await until(() => server.groups.strangers.unanswered + server.groups.proven.unanswered > 0, "the first request");
    const bodies = Array.from({ length: 12 }, () => randomBytes(300_000));
    const stream = Buffer.concat(bodies.map(requestBytes));
    for (let at = 0; at < stream.length; at += 130_000) {
      client.send(stream.subarray(at, at + 70_000));
      await until(() => kept.length >= Math.floor(at / 301_000), "whole requests are taken");
      server.pause("proven");
      const heldBefore = server.heldBytes;
      client.send(stream.subarray(at + 70_000, at + 130_000));
      await until(() => server.heldBytes > heldBefore || at + 70_000 >= stream.length, "its bytes wait");
      server.resume("proven");
    }
    await until(() => kept.length >= bodies.length, "all requests are taken");
    assert.ok(kept.every((frame, index) => frame.equals(bodies[index] ?? noBytes)));
    assert.ok(new Set(kept.map(({ buffer }) => buffer)).size === kept.length, "each has memory of its own");
    client.close();
    await server.close(0);
  });
});
