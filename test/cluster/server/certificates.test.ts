import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { describe, it } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { type MemberCertificates, mintCertificates } from "../../../src/cluster/server/certificates.ts";

const dayMs = 24 * 3_600_000;
const handshakeMs = 10_000;
const seed = Buffer.alloc(32, 1);
const otherSeed = Buffer.alloc(32, 2);

type Choices = { readonly authoritySeed?: Buffer; readonly hosts?: readonly string[]; readonly nowMs?: number };

function mint({ authoritySeed = seed, hosts = ["127.0.0.1"], nowMs = Date.now() }: Choices = {}): MemberCertificates {
  return mintCertificates({ authoritySeed, memberName: "master-1", hosts, nowMs, days: 30 });
}

/** What each side of a handshake with mutual TLS said: `accepted`, or the code of its error. */
type Outcome = { readonly server: string; readonly client: string };

/** `name`: the name that the client asks for, if not the address 127.0.0.1. */
async function handshake(ofServer: MemberCertificates, ofClient: MemberCertificates, name?: string): Promise<Outcome> {
  const side = ({ authority, certificate, key }: MemberCertificates) => ({ ca: authority, cert: certificate, key });
  const server = createServer({ ...side(ofServer), requestCert: true, rejectUnauthorized: false });
  // The server tells its verdict instead of acting upon it: with TLS 1.3 the client would not hear why the connection closed.
  const judged = new Promise<string>((resolve) => {
    server.once("secureConnection", (socket: TLSSocket) => {
      resolve(socket.authorized ? "accepted" : String(socket.authorizationError));
      socket.on("error", () => undefined).end("welcome");
    });
    server.once("tlsClientError", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const client = connect({
    ...side(ofClient),
    ...{ host: "127.0.0.1", port: address.port, timeout: handshakeMs },
    ...(name === undefined ? {} : { servername: name }),
  });
  const heard = new Promise<string>((resolve) => {
    client.once("data", () => resolve("accepted"));
    client.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    client.once("timeout", () => resolve("timeout"));
  });
  const outcome = { client: await heard, server: await judged };
  client.destroy();
  await once(server.close(), "close");
  return outcome;
}

describe("the certificates of a cluster's members", () => {
  it("come from one authority that is the same text on all members, at any time", () => {
    const [first, second] = [mint(), mint({ hosts: ["b.example"], nowMs: Date.UTC(2031, 1) })];
    assert.equal(first.authority, second.authority);
    assert.notEqual(first.certificate, second.certificate);
    assert.notEqual(first.key, second.key);
    assert.notEqual(first.authority, mint({ authoritySeed: otherSeed }).authority);
  });

  it("have an authority that signs members, and no authorities beneath it, from 2020 on", () => {
    const authority = new X509Certificate(mint().authority);
    assert.ok(authority.ca && authority.verify(authority.publicKey) && authority.checkIssued(authority));
    assert.equal(authority.publicKey.asymmetricKeyType, "ed25519");
    assert.match(authority.subject, /^CN=saltworks cluster [0-9a-f]{8}$/);
    assert.equal(Date.parse(authority.validFrom), Date.UTC(2020, 0));
    assert.equal(authority.validTo, "Dec 31 23:59:59 9999 GMT");
    assert.notEqual(authority.subject, new X509Certificate(mint({ authoritySeed: otherSeed }).authority).subject);
  });

  it("say who a member is, for both sides of a connection, from an hour ago to the last day", () => {
    const nowMs = Date.UTC(2026, 5, 1, 12);
    const hosts = [
      "master-1.example.com",
      "192.0.2.7",
      "2001:DB8::7",
      "::1",
      "::ffff:192.0.2.8",
      "fe80::1%eth0",
      "::1",
    ];
    const { authority, certificate } = mint({ hosts, nowMs });
    const [parent, member] = [new X509Certificate(authority), new X509Certificate(certificate)];
    assert.ok(member.checkIssued(parent) && member.verify(parent.publicKey) && !member.ca);
    assert.equal(member.subject, "CN=master-1");
    assert.equal(
      member.subjectAltName,
      "DNS:master-1.example.com, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7, IP Address:0:0:0:0:0:0:0:1, " +
        "IP Address:192.0.2.8, IP Address:FE80:0:0:0:0:0:0:1",
    );
    assert.deepEqual(member.keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
    assert.equal(Date.parse(member.validFrom), nowMs - 3_600_000);
    assert.equal(Date.parse(member.validTo), nowMs + 30 * dayMs);
    assert.notEqual(member.serialNumber, new X509Certificate(mint({ hosts, nowMs }).certificate).serialNumber);
  });

  it("keep a name of more than 64 characters by its beginning", () => {
    const long = { authoritySeed: seed, hosts: ["a.example"], nowMs: Date.now(), days: 1, memberName: "ä".repeat(65) };
    assert.equal(new X509Certificate(mintCertificates(long).certificate).subject, `CN=${"ä".repeat(64)}`);
  });

  it("are not made without hosts, nor for a host that is neither name nor address", () => {
    for (const hosts of [[], [""], ["a..b"], ["-a.example"], ["a b"], ["10.0.0.256"], ["*.example"], ["a%0.example"]]) {
      assert.throws(() => mint({ hosts }), { code: "CONFIG_INVALID" }, JSON.stringify(hosts));
    }
    assert.throws(() => mint({ hosts: [`${"a.".repeat(127)}b`] }), { code: "CONFIG_INVALID" });
    mint({ hosts: ["a", "a_b.example", `${"a.".repeat(126)}b`, "x--y.example", "3com.example"] });
  });
});

describe("mutual TLS between a cluster's members", () => {
  const accepted = { server: "accepted", client: "accepted" };

  it("is established by address and by name", async () => {
    assert.deepEqual(await handshake(mint(), mint()), accepted);
    const named = mint({ hosts: ["master-2.example", "192.0.2.9"] });
    assert.deepEqual(await handshake(named, mint(), "master-2.example"), accepted);
  });

  it("refuses a member with another secret, on both sides", async () => {
    const stranger = mint({ authoritySeed: otherSeed });
    const { authority } = mint();
    assert.equal((await handshake(stranger, mint())).client, "SELF_SIGNED_CERT_IN_CHAIN");
    // The stranger trusts the cluster's authority, so that the member is the one that refuses.
    const { server } = await handshake(mint(), { ...stranger, authority });
    assert.equal(server, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  });

  it("refuses a server at a host that its certificate does not name", async () => {
    const elsewhere = mint({ hosts: ["192.0.2.7", "master-2.example"] });
    assert.equal((await handshake(elsewhere, mint())).client, "ERR_TLS_CERT_ALTNAME_INVALID");
    assert.equal((await handshake(elsewhere, mint(), "master-3.example")).client, "ERR_TLS_CERT_ALTNAME_INVALID");
  });

  it("refuses an expired member and one of the future, on both sides", async () => {
    for (const [nowMs, code] of [
      [Date.now() - 31 * dayMs, "CERT_HAS_EXPIRED"],
      [Date.now() + 2 * 3_600_000, "CERT_NOT_YET_VALID"],
    ] as const) {
      assert.equal((await handshake(mint({ nowMs }), mint())).client, code);
      assert.equal((await handshake(mint(), mint({ nowMs }))).server, code);
    }
  });
});
