/** What `saltworks cluster leave` is told when the other servers do not say whether they have forgotten this one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type NatsConnection, TimeoutError } from "@nats-io/nats-core";
import { leaveServers } from "../../../src/cluster/membership/removal.ts";

/** A connection on which three servers tell their state, and none answers a request to forget one. */
function silentNats(): NatsConnection {
  const replicas = [
    { name: "m2", lag: 0 },
    { name: "m3", lag: 0 },
  ];
  const data = { meta_cluster: { leader: "m1", cluster_size: 3, replicas } };
  const answers = ["m1", "m2", "m3"].map((name) => ({ json: () => ({ server: { name, ver: "2.15.2" }, data }) }));
  const nats = {
    requestMany: async () =>
      (async function* () {
        yield* answers;
      })(),
    request: async () => {
      throw new TimeoutError();
    },
  };
  return nats as object as NatsConnection;
}

describe("a server that asks the others to forget it", () => {
  it("says that they have not answered, and that it may ask again", async () => {
    await assert.rejects(leaveServers(silentNats(), "m3"), {
      code: "CLUSTER_UNAVAILABLE",
      message: "the cluster has not said whether it has forgotten m3",
      detail: { mayRepeat: true },
    });
  });
});
