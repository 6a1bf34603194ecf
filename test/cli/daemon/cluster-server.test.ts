/** A member's own server that its daemon starts again: its clients find it, also if another program has taken its port meanwhile. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Server } from "node:net";
import { describe, it } from "node:test";
import pino from "pino";
import { startOwnServer } from "../../../src/cli/daemon/cluster-server.ts";
import { serverMemory } from "../../../src/cli/daemon/server-memory.ts";
import { connectCluster } from "../../../src/cluster/connection.ts";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { serverFiles } from "../../../src/cluster/server/prepare.ts";
import { listenAt, testMember } from "../../cluster/own-server.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { natsServerProgram, natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

/** After a second without the port, a server has it again. */
const fasterMs = 1_000;

describe("a member's own server", { skip: await natsServerSkip(), timeout: 120_000 }, () => {
  const temporary = temporaryDirectories();

  it("has bounds of memory, and is found by its clients after a start at another port", async () => {
    const member = { ...(await testMember(temporary())), secret: newClusterSecret() };
    const lines: string[] = [];
    const logger = pino({ level: "warn" }, { write: (line) => void lines.push(line) });
    const config = { interface: member.poolHost, cluster_pool_port: member.poolPort };
    const own = { ...config, cluster_nats_server: (await natsServerProgram()) ?? null };
    const start = await startOwnServer(own as Parameters<typeof startOwnServer>[0], member, logger);
    let taker: Server | undefined;
    const { nats } = await connectCluster({ ...start.access, name: "test", waitMs: 20_000 });
    try {
      const [first = 0, second] = start.access.ports;
      assert.equal(nats.getServer(), `127.0.0.1:${first}`);
      const left = new Promise<void>((resolve) => {
        void nats.closed().then(() => resolve());
        void (async () => {
          for await (const { type } of nats.status()) if (type === "disconnect") resolve();
        })();
      });
      const serverPid = () => Number(readFileSync(serverFiles(member.directory).pid, "utf8"));
      const { bytesMax, environment } = serverMemory();
      const processFile = (name: string) => readFileSync(`/proc/${serverPid()}/${name}`, "utf8");
      assert.match(processFile("limits"), new RegExp(`^Max data size +${bytesMax} +${bytesMax} `, "m"));
      assert.ok(processFile("environ").split("\0").includes(`GOMEMLIMIT=${environment.GOMEMLIMIT}`));
      const killServer = () => process.kill(serverPid(), "SIGKILL");
      killServer();
      await left;
      let killedMs = performance.now();
      await untilSo("another program has its port", async () => {
        taker = await listenAt(first).catch(() => undefined);
        if (taker === undefined && performance.now() - killedMs > fasterMs) {
          // The daemon's next server was faster, and has the port again.
          killServer();
          killedMs = performance.now();
        }
        return taker !== undefined;
      });
      const answers = () =>
        nats.rtt().then(
          () => true,
          () => false,
        );
      await untilSo("the client is back", async () => nats.getServer() === `127.0.0.1:${second}` && (await answers()));
      assert.match(lines.join(""), /another program has the port of the cluster's server/);
    } finally {
      await nats.close();
      taker?.close();
      await start.stop();
    }
  });
});
