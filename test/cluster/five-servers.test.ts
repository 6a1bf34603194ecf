/** Five servers, of which two are killed: the others are a majority, and one stream has one copy of three left. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ClusterConnection, connectCluster, retried } from "../../src/cluster/connection.ts";
import { accessTo } from "../../src/cluster/server/access.ts";
import { type ClusterStatus, readClusterStatus } from "../../src/cluster/status.ts";
import { untilSo } from "../fleet/cluster/members.ts";
import { natsServerSkip } from "../services/nats-server.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { kill, startPrepared, testKeys, testMembers } from "./own-server.ts";

const joinMs = 60_000;

describe("the state of five servers", { skip: await natsServerSkip(), timeout: 180_000 }, () => {
  const keys = testKeys(5);
  const servers = new Map<string, Awaited<ReturnType<typeof startPrepared>>>();
  const connections: ClusterConnection[] = [];
  const connect = async (user: "client" | "system", name: string) => {
    const ports = servers.get(name)?.clientPorts ?? [];
    const connection = await connectCluster({ ...accessTo(ports, keys, user, "w"), name: "w", waitMs: joinMs });
    connections.push(connection);
    return connection;
  };
  before(async () => {
    const members = await testMembers(Array.from({ length: 5 }, () => temporary()));
    const started = members.map(async (member) => servers.set(member.name, await startPrepared(member, keys)));
    await Promise.all(started);
  });
  after(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    await Promise.all([...servers.values()].map(({ process }) => kill(process)));
  });
  // Its directories are removed after the hook above.
  const temporary = temporaryDirectories();

  it("names a stream that has lost its majority", async () => {
    const { manager } = await connect("client", "member1");
    const stream = { name: "records", subjects: ["records"], num_replicas: 3 };
    const { cluster } = await retried("the cluster", joinMs, () => manager.streams.add(stream));
    const copies = [cluster?.leader ?? "", ...(cluster?.replicas ?? []).map(({ name }) => name)];
    assert.equal(copies.length, 3);
    const [kept = ""] = copies;
    const { nats } = await connect("system", kept);
    let status: ClusterStatus | undefined;
    const isSo = (leaderless: readonly string[], answering: number) => async () => {
      status = await readClusterStatus(nats);
      const count = status.servers.filter(({ isAnswering }) => isAnswering).length;
      return status.hasQuorum && count === answering && status.leaderless.join() === leaderless.join();
    };
    const seen = () => JSON.stringify(status);
    await untilSo(() => `all have a leader: ${seen()}`, isSo([], 5));
    await Promise.all(copies.slice(1).map((name) => kill(servers.get(name)?.process)));
    await untilSo(() => `the stream has none: ${seen()}`, isSo(["records"], 3));
  });
});
