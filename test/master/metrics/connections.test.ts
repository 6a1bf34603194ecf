import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { opening, requestBytes } from "../../../bench/fleet/storm/zmtp.ts";
import { sampleConnections } from "../../../src/master/metrics/connections.ts";
import { Samples } from "../../../src/master/metrics/samples.ts";
import { until } from "../../transport/zmtp/publish/subscribing.ts";
import { openServer, RawClient } from "../../transport/zmtp/raw-client.ts";
import { readExposition, sumOfSamples } from "./exposition.ts";

describe("the metrics of the request port's connections", { timeout: 60_000 }, () => {
  it("show the memory of an unfinished request, and that it is kept when its connection has gone", async () => {
    const { server } = await openServer();
    const bytesOf = (name: string): number => {
      const samples = new Samples();
      sampleConnections(samples, server);
      return sumOfSamples(readExposition(samples.text()), name);
    };
    try {
      const client = await RawClient.open(server.port);
      client.send(opening("REQ"));
      await client.take(1);
      client.send(requestBytes(Buffer.alloc(40_000)).subarray(0, 39_000));
      await until(() => bytesOf("saltworks_unfinished_request_bytes") >= 39_000, "the request arrives");
      const spareBytes = bytesOf("saltworks_spare_body_bytes");
      client.close();
      await until(() => bytesOf("saltworks_unfinished_request_bytes") === 0, "the connection is closed");
      assert.equal(bytesOf("saltworks_spare_body_bytes"), spareBytes + 64 * 1_024);
    } finally {
      await server.close(0);
    }
  });

  it("are all there before the port is open", () => {
    const samples = new Samples();
    sampleConnections(samples, undefined);
    const families = readExposition(samples.text());
    for (const name of ["saltworks_spare_body_bytes", "saltworks_connections", "saltworks_unread_reply_bytes"])
      assert.equal(sumOfSamples(families, name), 0, name);
    assert.ok(families.has("saltworks_spare_body_bytes"));
  });
});
