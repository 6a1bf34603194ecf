/** A member whose connections to its own server end for good: here the client cannot sign when the server is back. */
import assert from "node:assert/strict";
import { createHash, createPublicKey } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pino from "pino";
import type { OwnServerAccess } from "../../../src/cluster/connection.ts";
import { accessTo } from "../../../src/cluster/server/access.ts";
import { watchedOwnServers } from "../../../src/cluster/server/watched.ts";
import { ServerWatch } from "../../../src/cluster/server-watch.ts";
import type { MasterConfig } from "../../../src/config/load.ts";
import { type AttachParts, Cluster } from "../../../src/master/cluster/cluster.ts";
import { ensureMasterKeys } from "../../../src/store/keys/keys.ts";
import { kill, runPrepared, startPrepared, testKeys, testMember } from "../../cluster/own-server.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const logger = pino({ enabled: false });

describe("a member whose connection to its own server ends for good", {
  skip: await natsServerSkip(),
  timeout: 120_000,
}, () => {
  const keys = testKeys(6);
  let server: Awaited<ReturnType<typeof startPrepared>>;
  let member: Awaited<ReturnType<typeof testMember>>;
  let process: Awaited<ReturnType<typeof runPrepared>>;
  before(async () => {
    member = await testMember(join(temporary(), "cluster"));
    server = await startPrepared(member, keys);
    process = server.process;
  });
  after(() => kill(process));
  // Its directories are removed after the hook above.
  const temporary = temporaryDirectories();

  /** The server goes, and while it is back the client cannot sign. */
  const breakConnection = async ({ seed }: OwnServerAccess, isOver: () => boolean): Promise<void> => {
    const whole = Uint8Array.from(seed);
    seed.fill(0);
    await kill(process);
    process = await runPrepared(server);
    await untilSo("the connection has ended", isOver);
    seed.set(whole);
  };

  it("looks at the servers by a new one", async () => {
    const access = accessTo(server.clientPorts, keys, "system", "w");
    const { read } = watchedOwnServers(server.clientPorts, keys, "w");
    const lines: string[] = [];
    const note = (fields: unknown, text?: string) => void lines.push(text ?? String(fields));
    const watch = new ServerWatch({
      ...{ access, read, member: "member1", everyMs: 50 },
      logger: { info: () => undefined, warn: () => undefined, error: note },
    });
    watch.start();
    try {
      await untilSo("it looks", () => watch.status !== undefined);
      await breakConnection(access, () => lines.some((text) => text.includes("by a new connection")));
      await untilSo("it looks again", () => watch.status !== undefined);
    } finally {
      await watch.close();
    }
  });

  it("ends the master, which its service manager starts again", async () => {
    const access = accessTo(server.clientPorts, keys, "client", "member1");
    const config = {
      ...{ pki_dir: temporary(), cachedir: temporary(), keysize: 2_048, key_pass: null, cluster_join_timeout: 60 },
    } as unknown as MasterConfig;
    const { privatePem } = ensureMasterKeys(config.pki_dir, config.keysize, "master");
    const spki = createPublicKey(privatePem).export({ type: "spki", format: "der" });
    mkdirSync(member.directory, { recursive: true });
    writeFileSync(join(member.directory, "joined"), `test ${createHash("sha256").update(spki).digest("hex")}\n`);
    const stop = async () => undefined;
    const watched = watchedOwnServers(server.clientPorts, keys, "member1");
    const start = { member, keys, access, watched, restarts: () => 0, stop };
    const cluster = await Cluster.join({ start, config, logger });
    const faults: Error[] = [];
    let isConnected = false;
    const sharePresence = cluster.minions.sharePresence.bind(cluster.minions);
    cluster.minions.sharePresence = (connection) => {
      isConnected = true;
      sharePresence(connection);
    };
    cluster.attach({
      secrets: { aes: "", former: undefined, createdMs: 0 },
      keyManagement: { onAccepted: () => undefined },
      metrics: { addSource: () => undefined },
      fail: (error: Error) => faults.push(error),
    } as unknown as AttachParts);
    try {
      await untilSo("it is connected", () => isConnected);
      await breakConnection(access, () => faults.length > 0);
      assert.equal(faults.length, 1);
      assert.match(String(faults[0]), /has ended, and does not come back by itself/);
    } finally {
      await cluster.close();
    }
    assert.equal(faults.length, 1, "its own end is none");
  });
});
