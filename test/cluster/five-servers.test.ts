/** Five servers, of which one or two are killed: the others are a majority, and a stream has two copies of three left, or one. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ClusterConnection, connectCluster, retried } from "../../src/cluster/connection.ts";
import { leaveServers } from "../../src/cluster/membership/removal.ts";
import { accessTo } from "../../src/cluster/server/access.ts";
import { watchedOwnServers } from "../../src/cluster/server/watched.ts";
import { ServerWatch } from "../../src/cluster/server-watch.ts";
import { type ClusterStatus, readClusterStatus } from "../../src/cluster/status.ts";
import { untilSo } from "../fleet/cluster/members.ts";
import { natsServerSkip } from "../services/nats-server.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { kill, runPrepared, startPrepared, testKeys, testMembers } from "./own-server.ts";

const joinMs = 60_000;
/** Of a server that asks to leave, and is refused. */
const leaveWaitMs = 1_000;

describe("the state of five servers", { skip: await natsServerSkip(), timeout: 180_000 }, () => {
  const keys = testKeys(5);
  const servers = new Map<string, Awaited<ReturnType<typeof startPrepared>>>();
  const connections: ClusterConnection[] = [];
  const serverOf = (name: string) => servers.get(name) ?? assert.fail(`${name} was not started`);
  const connect = async (user: "client" | "system", name: string) => {
    const ports = serverOf(name).clientPorts;
    const connection = await connectCluster({ ...accessTo(ports, keys, user, "w"), name: "w", waitMs: joinMs });
    connections.push(connection);
    return connection;
  };
  let system: ClusterConnection;
  /** Servers with a copy of the stream. */
  let kept: string;
  let others: readonly string[];
  let watch: ServerWatch | undefined;
  const lines: { readonly streams?: readonly string[]; readonly text: string | undefined }[] = [];

  before(async () => {
    const members = await testMembers(Array.from({ length: 5 }, () => temporary()));
    const started = members.map(async (member) => servers.set(member.name, await startPrepared(member, keys)));
    await Promise.all(started);
    const { manager } = await connect("client", "member1");
    const stream = { name: "records", subjects: ["records"], num_replicas: 3 };
    const { cluster } = await retried("the cluster", joinMs, () => manager.streams.add(stream));
    kept = cluster?.leader ?? "";
    others = (cluster?.replicas ?? []).map(({ name }) => name);
    assert.equal(others.length, 2);
    system = await connect("system", kept);
    const note = (fields: unknown, text?: string) => void lines.push({ ...(fields as object), text });
    watch = new ServerWatch({
      ...watchedOwnServers(serverOf(kept).clientPorts, keys, "watch"),
      ...{ member: kept, logger: { info: note, warn: note, error: note }, everyMs: 50 },
    });
    watch.start();
  });
  after(async () => {
    await watch?.close();
    await Promise.all(connections.map((connection) => connection.close()));
    await Promise.all([...servers.values()].map(({ process }) => kill(process)));
  });
  // Its directories are removed after the hook above.
  const temporary = temporaryDirectories();

  async function untilState(leaderless: readonly string[], answering: number): Promise<void> {
    let status: ClusterStatus | undefined;
    const isSo = async () => {
      status = await readClusterStatus(system.nats);
      const count = status.servers.filter(({ isAnswering }) => isAnswering).length;
      return status.hasQuorum && count === answering && status.leaderless.join() === leaderless.join();
    };
    await untilSo(() => `${answering} answer, without a leader "${leaderless}": ${JSON.stringify(status)}`, isSo);
  }

  it("lets no server leave that a stream needs while another one with a copy is down", async () => {
    await untilState([], 5);
    const [down = ""] = others;
    await kill(serverOf(down).process);
    await untilState([], 4);
    const message = `without ${kept} too few of the servers with a copy would work for records, which would take no records: start ${down} first`;
    const refusal = { code: "CLUSTER_UNAVAILABLE", message };
    await assert.rejects(leaveServers(system.nats, kept, leaveWaitMs), refusal);
    servers.set(down, { ...serverOf(down), process: await runPrepared(serverOf(down)) });
    await untilState([], 5);
    assert.equal(watch?.counters.leadersLost, 0);
  });

  it("names a stream that has lost its majority, in the log, too", async () => {
    await Promise.all(others.map((name) => kill(serverOf(name).process)));
    await untilState(["records"], 3);
    await untilSo("the log tells it", () => watch?.counters.leadersLost === 1);
    assert.deepEqual(watch?.status?.leaderless, ["records"]);
    const told = lines.filter(({ text }) => text?.includes("take no records"));
    assert.deepEqual(
      told.map(({ streams }) => streams),
      [["records"]],
    );
  });

  it("says that the stream takes records again", async () => {
    const [down = ""] = others;
    servers.set(down, { ...serverOf(down), process: await runPrepared(serverOf(down)) });
    await untilSo("the log tells it", () => lines.some(({ text }) => text?.includes("take records again")));
    assert.equal(watch?.counters.leadersLost, 1);
  });
});
