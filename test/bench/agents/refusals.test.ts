/** An agent and strangers: each is refused with a line that says why, in bounded time and memory, and the next bench is served. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectPlain, createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { openAgents } from "../../../bench/agents/agents.ts";
import { clientSecurity } from "../../../bench/agents/secured.ts";
import { AgentSite, key, otherKey, version } from "./fixture.ts";

const quick = { handshakeMs: 300, helloMs: 300 };

describe("an agent", () => {
  let site: AgentSite;
  before(async () => {
    site = await AgentSite.open(quick);
  });
  after(() => site.agent.close());

  /** A client that has the secret and sends these bytes. */
  function rogue(bytes: Uint8Array) {
    const socket = connectTls({ ...clientSecurity(key), ...site.agent.address });
    socket.on("error", () => undefined).resume();
    socket.once("secureConnect", () => socket.write(bytes));
    return once(socket, "close");
  }

  it("refuses another secret, and both sides are told", async () => {
    await assert.rejects(site.connect({ key: otherKey }), {
      code: "MASTER_UNREACHABLE",
      message: /^the agent 127\.0\.0\.1:\d+ cannot be used: it has another secret: --agent-secret and its --secret/,
    });
    await site.line(/^refused .*: it has another secret$/);
  });

  it("refuses a client without a secret", async () => {
    const socket = connectTls({ ...site.agent.address, rejectUnauthorized: false });
    await once(socket, "error");
    await site.line(/^refused .*: it has no secret$/);
  });

  it("refuses plain TCP", async () => {
    const { port } = site.agent.address;
    const socket = connectPlain(port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\n\r\n"));
    socket.on("error", () => undefined).resume();
    await once(socket, "close");
    await site.line(/^refused .*: it does not speak as a bench does \(ERR_SSL_/);
  });

  it("refuses a client that never speaks, before and after it proved its secret", async () => {
    const socket = connectPlain(site.agent.address.port, "127.0.0.1");
    socket.on("error", () => undefined).resume();
    await Promise.all([once(socket, "close"), rogue(Buffer.alloc(0))]);
    await site.line(/^refused .*: it did not prove that it has the secret in time$/);
    await site.line(/^refused .*: it did not say hello in time$/);
  });

  it("tells of some refusals in a span, and at its end the number of the others", async () => {
    const flooded = await AgentSite.open(quick);
    try {
      for (let count = 0; count < 25; count += 1) {
        const socket = connectPlain(flooded.agent.address.port, "127.0.0.1", () =>
          socket.write("GET / HTTP/1.1\r\n\r\n"),
        );
        socket.on("error", () => undefined).resume();
        await once(socket, "close");
      }
    } finally {
      await flooded.agent.close();
    }
    assert.equal(flooded.lines.filter((line) => line.startsWith("refused 127.0.0.1:")).length, 20);
    assert.equal(flooded.lines.at(-1), "refused 5 more");
  });

  it("refuses a huge frame from its header", async () => {
    await rogue(Buffer.of(0x7f, 0xff, 0xff, 0xff));
    await site.line(/^refused .*: it sent a piece of 2147483647 bytes, more than 1048576$/);
    await rogue(Buffer.of(0, 0x0f, 0xff, 0xff));
    await site.line(/^refused .*: it sent a message of 1048575 bytes, more than 16384$/);
  });

  it("refuses what is not a message, and another greeting", async () => {
    await rogue(Buffer.of(0, 0, 0, 2, 0xdd, 1));
    await site.line(/^refused .*: it sent a message that is not MessagePack$/);
    await rogue(Buffer.of(0, 0, 0, 1, 0xc0));
    await site.line(/^refused .*: it did not say hello$/);
  });

  it("refuses another version by name", async () => {
    await assert.rejects(site.connect({ version: "9.9.9" }), {
      code: "REQUEST_REFUSED",
      message:
        /the bench is Saltworks 9\.9\.9 \(protocol 2\), this agent 1\.2\.3 \(protocol 2\): they must be the same/,
    });
  });

  it("serves one bench at a time, and the next one after it", async () => {
    const first = await site.connect();
    await assert.rejects(site.connect(), {
      code: "REQUEST_REFUSED",
      message: /serves another bench, from 127\.0\.0\.1/,
    });
    await first.close();
    const second = await site.connect();
    assert.deepEqual([second.cores, second.facts.node], [3, process.version]);
    await second.close();
  });

  it("never tells its secret", () => {
    const all = site.lines.join("\n");
    assert.ok(site.lines.length > 7);
    for (const encoding of ["hex", "base64", "latin1"] as const) assert.ok(!all.includes(key.toString(encoding)));
  });
});

describe("the agents of a bench", () => {
  const options = { version, masterHost: "127.0.0.1", signal: new AbortController().signal };

  it("must be agents: what answers otherwise is told apart", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined).resume();
      socket.end("SSH-2.0-x\r\n");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const opening = openAgents({ addresses: [{ host: "127.0.0.1", port }], key }, options);
    await assert.rejects(opening, {
      message: `the agent 127.0.0.1:${port} cannot be used: what listens there is not a bench agent`,
    });
    server.close();
    await once(server, "close");
    const again = openAgents({ addresses: [{ host: "127.0.0.1", port }], key }, options);
    await assert.rejects(again, { code: "MASTER_UNREACHABLE", message: /nothing listens there/ });
  });

  it("on other hosts are refused beside a master that listens on loopback", async () => {
    const far = { addresses: [{ host: "192.0.2.1", port: 1 }], key };
    await assert.rejects(openAgents(far, options), {
      code: "USAGE",
      message: /the agent 192\.0\.2\.1:1 is on another address, and the master listens on 127\.0\.0\.1 only/,
    });
  });

  it("that were opened before one is refused are free again", async () => {
    const site = await AgentSite.open();
    const addresses = [site.agent.address, { host: "127.0.0.1", port: 1 }];
    await assert.rejects(openAgents({ addresses, key }, options), { code: "MASTER_UNREACHABLE" });
    await (await site.connect()).close();
    await site.agent.close();
  });
});
