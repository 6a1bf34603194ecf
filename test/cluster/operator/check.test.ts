/** What a member finds out of an operator's servers before it uses them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import { nkeys } from "@nats-io/nats-core";
import { checkOperatorNats } from "../../../src/cluster/operator/check.ts";
import { operatorServers } from "../../../src/cluster/operator/servers.ts";
import type { NatsCredentials } from "../../../src/cluster/operator-nats.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { credentialsText, operatorAccounts } from "./credentials.ts";
import { OperatorServers } from "./servers.ts";

const sealKey = Buffer.alloc(32, 1);

function check(addresses: readonly string[], credentials: NatsCredentials, caFile?: string) {
  const servers = addresses.map((address) => address.replace("tls://", ""));
  const tls = caFile === undefined ? undefined : { caFile, handshakeFirst: false };
  const { access } = operatorServers({ servers, credentials, tls }, "prod", sealKey);
  return checkOperatorNats({ access, clusterId: "prod", name: "m1" });
}

/** A server that says what it is, and nothing more. */
async function posing(info: object) {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.write(`INFO ${JSON.stringify({ proto: 1, headers: true, ...info })}\r\n`);
    socket.on("data", (bytes) => bytes.includes("PING") && socket.write("PONG\r\n"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe("a server that does not fit", () => {
  const good = { version: "2.11.0", max_payload: 8 * 1024 * 1024, cluster: "c" };
  const faults: readonly (readonly [string, object, RegExp])[] = [
    ["an old one", { version: "2.10.29" }, /is of version 2\.10\.29, and 2\.11\.0 or newer is needed/],
    ["one with small messages", { max_payload: 1_048_576 }, /max_payload must be 8388608 at least/],
    ["one that runs alone", { cluster: undefined }, /runs alone: three copies/],
  ];
  for (const [what, info, why] of faults)
    it(`is refused by name: ${what}`, async () => {
      const server = await posing({ ...good, ...info });
      try {
        await assert.rejects(check([server.address], { kind: "none" }), { code: "CLUSTER_REFUSED", message: why });
      } finally {
        server.close();
      }
    });

  it("is refused: one without TLS, where TLS is demanded", async () => {
    const server = await posing(good);
    const { access } = operatorServers(
      { servers: [server.address], credentials: { kind: "none" }, tls: { handshakeFirst: false } },
      "prod",
      sealKey,
    );
    try {
      await assert.rejects(checkOperatorNats({ access, clusterId: "prod", name: "m1" }), {
        ...{ code: "CLUSTER_REFUSED", message: /offers no TLS/ },
      });
    } finally {
      server.close();
    }
  });

  it("may be out of reach for now", async () => {
    const checked = await check(["127.0.0.1:1"], { kind: "none" });
    assert.equal(checked.isReached, false);
    assert.match(checked.silent[0] ?? "", /^127\.0\.0\.1:1: connection refused/);
  });
});

describe("credentials of an operator's NATS", { skip: await natsServerSkip(), timeout: 120_000 }, () => {
  const keys = { operator: nkeys.createOperator(), account: nkeys.createAccount(), user: nkeys.createUser() };
  let server: OperatorServers;
  before(async () => {
    server = await OperatorServers.start({ more: operatorAccounts(keys), count: 1 });
  });
  after(() => server?.close());
  const checkFile = (text: string) => {
    const credentials = { kind: "creds", file: server.file("creds", text) } as const;
    return check(server.addresses, credentials, server.certificates.ca);
  };

  it("are taken from a .creds file", async () => {
    // It knows the user: it is asked what it is.
    await assert.rejects(checkFile(credentialsText(keys)), { message: /runs alone/ });
  });

  it("of an account that it does not know are refused by name", async () => {
    const strangers = { ...keys, account: nkeys.createAccount() };
    await assert.rejects(checkFile(credentialsText(strangers)), {
      ...{ code: "CLUSTER_REFUSED", message: /refuses this member's credentials: look at cluster_nats_credentials/ },
    });
  });

  it("that a file does not hold are refused without its text", async () => {
    await assert.rejects(
      checkFile("something hidden"),
      ({ code, message }: Error & { code: string }) =>
        code === "CONFIG_INVALID" &&
        /cluster_nats_credentials: .* does not hold/.test(message) &&
        !/hidden/.test(message),
    );
  });
});
