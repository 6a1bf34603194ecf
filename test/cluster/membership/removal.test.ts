/** What `saltworks cluster leave` is told when the other servers do not say whether they have forgotten this one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type NatsConnection, TimeoutError } from "@nats-io/nats-core";
import { leaveServers } from "../../../src/cluster/membership/removal.ts";

/** The servers that answer a look, and the followers that the leader counts. */
type Look = { readonly answering: readonly string[]; readonly followers: readonly string[] };

const wholeLook: Look = { answering: ["m1", "m2", "m3"], followers: ["m2", "m3"] };

/** A connection on which three servers tell their state, at each look the next of `looks`, and none answers a request to forget one. */
function silentNats(...looks: readonly Look[]): NatsConnection {
  let count = 0;
  const nats = {
    requestMany: async () => {
      const { answering, followers } = looks[Math.min(count, looks.length - 1)] ?? wholeLook;
      count += 1;
      const replicas = followers.map((name) => ({ name, lag: 0 }));
      const data = { meta_cluster: { leader: "m1", cluster_size: 3, replicas } };
      return (async function* () {
        yield* answering.map((name) => ({ json: () => ({ server: { name, ver: "2.15.2" }, data }) }));
      })();
    },
    request: async () => {
      throw new TimeoutError();
    },
  };
  return nats as object as NatsConnection;
}

const notSaid = "the cluster has not said whether it has forgotten m3";

describe("a server that asks the others to forget it", () => {
  it("says that they have not answered, and that it may ask again", async () => {
    await assert.rejects(leaveServers(silentNats(), "m3"), {
      code: "CLUSTER_UNAVAILABLE",
      message: notSaid,
      detail: { mayRepeat: true },
    });
  });

  it("asks although another one was late with its answer at first", async () => {
    const early = { answering: ["m1", "m3"], followers: ["m2", "m3"] };
    await assert.rejects(leaveServers(silentNats(early, early, wholeLook), "m3"), { message: notSaid });
  });

  it("asks although the leading one did not count it at first", async () => {
    const early = { answering: ["m1", "m2", "m3"], followers: ["m2"] };
    await assert.rejects(leaveServers(silentNats(early, wholeLook), "m3"), { message: notSaid });
  });

  it("names the one that stays away", async () => {
    const early = { answering: ["m1", "m3"], followers: ["m2", "m3"] };
    await assert.rejects(leaveServers(silentNats(early), "m3"), { message: /would take no changes: start m2 first/ });
  });
});
