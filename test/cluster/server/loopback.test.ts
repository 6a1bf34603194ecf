/** The port of a member's server on loopback: only the cluster's clients get in, and they talk to the cluster's server only. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import { connectCluster, connectOptions } from "../../../src/cluster/connection.ts";
import { accessTo } from "../../../src/cluster/server/access.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { kill, startPrepared, testKeys, testMember } from "../own-server.ts";

const keys = testKeys(1);
const strangersKeys = testKeys(2);
const greeting = { server_id: "X", version: "2.15.2", proto: 1, headers: true, max_payload: 1_048_576, nonce: "n" };
/** Of a TLS record that carries a handshake. */
const handshakeByte = 22;

describe("the loopback port of a member's server", { skip: await natsServerSkip(), timeout: 120_000 }, () => {
  const temporary = temporaryDirectories();
  let child: ChildProcess | undefined;
  let port = 0;
  before(async () => {
    const started = await startPrepared(await testMember(temporary()), keys);
    child = started.process;
    [port = 0] = started.clientPorts;
  });
  after(() => kill(child));

  it("takes the master and the command line, by their own users", async () => {
    for (const user of ["client", "system"] as const) {
      const connection = await connectCluster({
        ...accessTo([port], keys, user, "test"),
        name: "test",
        waitMs: 10_000,
      });
      assert.ok((await connection.nats.rtt()) >= 0);
      await connection.close();
    }
  });

  it("refuses a client without TLS, without a certificate, and with that of another cluster", async () => {
    const access = accessTo([port], keys, "client", "test");
    const options = { ...connectOptions(access, "test"), reconnect: false, timeout: 3_000 };
    const { tls, ...plain } = options;
    await assert.rejects(connect({ ...plain, authenticator: nkeyAuthenticator(access.seed) }));
    await assert.rejects(connect({ ...options, tls: { ca: access.authority, handshakeFirst: true } }));
    const { certificate: cert, key } = accessTo([port], strangersKeys, "client", "test");
    await assert.rejects(connect({ ...options, tls: { ...tls, cert, key } }));
    await (await connect(options)).close();
  });
});

describe("a stranger that listens on the port of a member's server", { timeout: 60_000 }, () => {
  let poser: Server | undefined;
  const sockets: Socket[] = [];
  const heard: Buffer[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    poser?.close();
    heard.length = 0;
  });

  const listen = async (server: Server): Promise<number> => {
    poser = server;
    server.on("connection", (socket) => sockets.push(socket));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    return address.port;
  };
  const refuses = async (port: number) =>
    await assert.rejects(connectCluster({ ...accessTo([port], keys, "client", "test"), name: "test", waitMs: 100 }), {
      code: "CLUSTER_UNAVAILABLE",
    });
  const greet = (socket: Socket) => {
    socket.on("error", () => undefined).on("data", (bytes: Buffer) => heard.push(bytes));
    socket.write(`INFO ${JSON.stringify(greeting)}\r\n`);
  };

  it("hears no plain word, though its greeting says that TLS is not needed", async () => {
    await refuses(await listen(createServer(greet)));
    assert.ok(heard.length > 0 && heard.every((bytes) => bytes[0] === handshakeByte));
  });

  it("is refused with a certificate of another authority", async () => {
    const { certificate: cert, key } = accessTo([], strangersKeys, "client", "poser");
    await refuses(await listen(createTlsServer({ cert, key }, greet)));
    assert.equal(heard.length, 0);
  });
});
