/** What a member's server needs before it starts: files that others cannot read, and the end of a server that a killed master left. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { Server } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connectCluster } from "../../../src/cluster/connection.ts";
import { accessTo } from "../../../src/cluster/server/access.ts";
import { clientPortIn } from "../../../src/cluster/server/configuration.ts";
import { prepareServer, serverFiles } from "../../../src/cluster/server/prepare.ts";
import { within } from "../../../src/deadline.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { kill, listenAt, runPrepared, startPrepared, testKeys, testMember } from "../own-server.ts";

const skip = await natsServerSkip();
const closed = (server: Server) => new Promise((resolve) => server.close(resolve));

describe("the preparation of a member's server", { timeout: 60_000 }, () => {
  const temporary = temporaryDirectories();
  const keys = testKeys(5);

  it("writes files that only the master's user reads, and no secret key of the cluster", async () => {
    const directory = join(temporary(), "cluster");
    const prepared = await prepareServer(await testMember(directory), keys, Date.now());
    const files = serverFiles(directory);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    for (const file of [files.configuration, files.authority, files.certificate, files.key])
      assert.equal(statSync(file).mode & 0o777, 0o600, file);
    const text = readFileSync(files.configuration, "utf8");
    assert.equal(clientPortIn(text), prepared.clientPorts[0]);
    for (const key of Object.values(keys)) assert.ok(!text.includes(key.toString("hex")));
    const { tls, cluster } = JSON.parse(text) as { tls: object; cluster: { tls: object } };
    const asked = { verify: true, ca_file: files.authority };
    assert.deepEqual(
      [
        { ...tls, ...asked },
        { ...cluster.tls, ...asked },
      ],
      [tls, cluster.tls],
    );
  });

  it("makes a new certificate each time, of the same authority", async () => {
    const directory = temporary();
    const member = await testMember(directory);
    const look = () =>
      [serverFiles(directory).authority, serverFiles(directory).certificate].map((file) => readFileSync(file, "utf8"));
    await prepareServer(member, keys, Date.now());
    const [authority, certificate] = look();
    await prepareServer(member, keys, Date.now());
    const [again, other] = look();
    assert.equal(again, authority);
    assert.notEqual(other, certificate);
  });

  it("gives the server another port if a program has taken the one that was free", { skip }, async () => {
    const prepared = await prepareServer(await testMember(temporary()), keys, Date.now());
    const [first = 0, second = 0] = prepared.clientPorts;
    assert.equal(await prepared.takeFreePort(), undefined);
    const taker = await listenAt(first);
    assert.equal(await prepared.takeFreePort(), first);
    assert.equal(clientPortIn(readFileSync(prepared.configurationFile, "utf8")), second);
    const server = await runPrepared(prepared);
    try {
      const access = accessTo(prepared.clientPorts, keys, "client", "test");
      const { nats } = await connectCluster({ ...access, name: "test", waitMs: 20_000 });
      assert.equal(nats.getServer(), `127.0.0.1:${second}`);
      await nats.close();
    } finally {
      await kill(server);
      taker.close();
    }
    assert.equal(await prepared.takeFreePort(), undefined, "the server keeps its port as long as it can");
  });

  it("writes the other port again if the write failed, as on a full disk", async () => {
    const prepared = await prepareServer(await testMember(temporary()), keys, Date.now());
    const { configurationFile, clientPorts } = prepared;
    const [first = 0, second = 0] = clientPorts;
    const taker = await listenAt(first);
    try {
      rmSync(configurationFile);
      mkdirSync(configurationFile);
      await assert.rejects(prepared.takeFreePort(), { code: "EISDIR" });
      rmdirSync(configurationFile);
      assert.equal(await prepared.takeFreePort(), first);
      assert.equal(clientPortIn(readFileSync(configurationFile, "utf8")), second);
    } finally {
      taker.close();
    }
  });

  it("is found again at a port that it did not have when the member connected", { skip }, async () => {
    const prepared = await prepareServer(await testMember(temporary()), keys, Date.now());
    const [first = 0, second = 0] = prepared.clientPorts;
    const takers = [await listenAt(first)];
    await prepared.takeFreePort();
    let server = await runPrepared(prepared);
    const access = accessTo(prepared.clientPorts, keys, "client", "test");
    const connection = await connectCluster({ ...access, name: "test", waitMs: 20_000 });
    const { nats } = connection;
    try {
      assert.equal(nats.getServer(), `127.0.0.1:${second}`);
      const back = (async () => {
        for await (const { type } of nats.status()) if (type === "reconnect") return;
      })();
      await kill(server);
      await Promise.all(takers.map(closed));
      takers.push(await listenAt(second));
      assert.equal(await prepared.takeFreePort(), second);
      server = await runPrepared(prepared);
      await within(back, 20_000, () => assert.fail("the connection does not come back"));
      assert.equal(nats.getServer(), `127.0.0.1:${first}`);
    } finally {
      await connection.close();
      await kill(server);
      for (const taker of takers) taker.close();
    }
  });

  it("says so if other programs have all of its ports", async () => {
    const prepared = await prepareServer(await testMember(temporary()), keys, Date.now());
    const takers = await Promise.all(prepared.clientPorts.map(listenAt));
    await assert.rejects(prepared.takeFreePort(), { code: "PORT_UNUSABLE" });
    for (const taker of takers) taker.close();
  });

  it("ends a server that was left running, and no other process", { skip }, async () => {
    const member = await testMember(temporary());
    const { process: left } = await startPrepared(member, keys);
    try {
      const ended = once(left, "exit");
      await prepareServer(member, keys, Date.now());
      await ended;
    } finally {
      await kill(left);
    }
    // The id of the dead server went to another process.
    writeFileSync(serverFiles(member.directory).pid, String(process.pid));
    await prepareServer(member, keys, Date.now());
  });
});
