/** The backend `ldap` against directories that no real one plays: one that hangs, and one that sends its clients elsewhere. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, it, type TestContext } from "node:test";
import { ldapLoginMs } from "../../../src/limits.ts";
import { checkCredential } from "../../../src/workers/credentials/backends.ts";

/** Numbers of operations and results: RFC 4511 sections 4.2 to 4.5. */
const bindRequest = 0x60;
const searchRequest = 0x63;
const success = 0;
const referral = 10;

const servers: Server[] = [];
async function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer(onConnection);
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function check(port: number) {
  const opts = new Map<string, unknown>([
    ["auth.ldap.uri", `ldap://127.0.0.1:${port}`],
    ["auth.ldap.basedn", "dc=test"],
    ["auth.ldap.binddn", "cn=admin,dc=test"],
    ["auth.ldap.bindpw", "admin-1"],
    ["auth.ldap.filter", "uid={{ username }}"],
  ]);
  const config = { externalAuth: { ldap: { ann: ["test.*"] } }, isPermissive: false, opts };
  return checkCredential(config, { eauth: "ldap", username: "ann", password: "ann-1" });
}

/** A value of BER with a short length. */
const ber = (tag: number, ...parts: readonly Uint8Array[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, body.byteLength]), body]);
};

/** One request: its number, its operation. Requests of these tests come whole. */
function requestIn(bytes: Buffer): { readonly id: Buffer; readonly operation: number } {
  const lengthBytes = (bytes[1] ?? 0) > 0x80 ? (bytes[1] ?? 0) - 0x80 : 0;
  const start = 2 + lengthBytes;
  const end = start + 2 + (bytes[start + 1] ?? 0);
  return { id: bytes.subarray(start, end), operation: bytes[end] ?? 0 };
}

describe("the eauth system ldap", () => {
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  it("gives a directory up that takes the connection and never answers", async (test: TestContext) => {
    let accepted: (socket: Socket) => void = () => undefined;
    const connection = new Promise<Socket>((resolve) => {
      accepted = resolve;
    });
    const port = await listen((socket) => accepted(socket));
    test.mock.timers.enable({ apis: ["setTimeout"] });
    const checking = check(port);
    const socket = await connection;
    // The bind: the client waits for its answer from now on.
    await once(socket, "data");
    test.mock.timers.tick(ldapLoginMs);
    const { isAuthentic, fault = "" } = await checking;
    socket.destroy();
    assert.equal(isAuthentic, false);
    assert.match(fault, /did not answer within 20000 ms/);
    assert.doesNotMatch(fault, /ann-1|admin-1/);
  });

  it("follows no referral, with a password or without", async () => {
    let others = 0;
    const elsewhere = await listen((socket) => {
      others += 1;
      socket.destroy();
    });
    const url = ber(0x04, Buffer.from(`ldap://127.0.0.1:${elsewhere}/dc=test`));
    const result = (tag: number, code: number) =>
      ber(tag, ber(0x0a, Buffer.from([code])), ber(0x04), ber(0x04), ...(code === referral ? [ber(0xa3, url)] : []));
    for (const referring of ["bind", "search result", "search reference"] as const) {
      const asked: number[] = [];
      const port = await listen((socket) => {
        socket.on("error", () => undefined);
        socket.on("data", (bytes: Buffer) => {
          const { id, operation } = requestIn(bytes);
          asked.push(operation);
          const send = (body: Uint8Array) => socket.write(ber(0x30, id, body));
          if (operation === bindRequest) send(result(0x61, referring === "bind" ? referral : success));
          if (operation !== searchRequest) return;
          // RFC 4511 section 4.5.3: a reference among the entries.
          if (referring === "search reference") send(ber(0x73, url));
          send(result(0x65, referring === "search result" ? referral : success));
        });
      });
      const { isAuthentic } = await check(port);
      assert.equal(isAuthentic, false, referring);
      assert.ok(asked.includes(referring === "bind" ? bindRequest : searchRequest), `${referring}: ${asked}`);
    }
    assert.equal(others, 0);
  });
});
