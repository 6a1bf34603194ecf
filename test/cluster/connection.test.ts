/** Errors of a connection name the servers that it is for: the member's own one, or an operator's. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { freePort } from "../../bench/free-ports.ts";
import { connectCluster, type ServerAccess, untilAnswered } from "../../src/cluster/connection.ts";
import { operatorServers } from "../../src/cluster/operator/servers.ts";
import { accessTo } from "../../src/cluster/server/access.ts";
import { SaltworksError } from "../../src/errors.ts";
import { clusterRetryMs } from "../../src/limits.ts";
import { testKeys } from "./own-server.ts";

describe("a connection to servers that do not answer", { timeout: 60_000 }, () => {
  const keys = testKeys(7);
  const refused = async (access: ServerAccess, text: RegExp) =>
    await assert.rejects(connectCluster({ ...access, name: "test", waitMs: 0 }), (error: Error) => {
      assert.match(error.message, text);
      return true;
    });

  it("says that it is the member's own one", async () => {
    await refused(
      accessTo([await freePort()], keys, "client", "test"),
      /^this member's own NATS server does not answer/,
    );
  });

  it("names those of an operator, and no own one", async () => {
    const server = `127.0.0.1:${await freePort()}`;
    const nats = { servers: [server], credentials: { kind: "none" as const }, tls: undefined };
    const { access } = operatorServers(nats, "test", keys.sealKey);
    await refused(access, new RegExp(`^NATS \\(cluster_nats_servers: ${server}\\) does not answer`));
  });
});

describe("what the cluster refuses at once", { timeout: 60_000 }, () => {
  it("is asked again after a pause each time", async () => {
    const ending = new AbortController();
    const told: unknown[] = [];
    const refusal = new SaltworksError("CLUSTER_UNAVAILABLE", "maximum number of streams reached");
    const startMs = performance.now();
    let tries = 0;
    const attempt = async () => {
      tries += 1;
      if (tries === 4) ending.abort();
      throw refusal;
    };
    const asked = untilAnswered("a bucket", 60_000, attempt, ending.signal, (error) => told.push(error));
    await assert.rejects(asked, refusal);
    assert.deepEqual(told, [refusal, refusal, refusal]);
    // Timers may fire a millisecond early.
    assert.ok(performance.now() - startMs > 3 * (clusterRetryMs - 2));
  });
});
