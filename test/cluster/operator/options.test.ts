/** The options of an operator's own NATS: what they mean, and which are refused by name. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { type MemberConfig, memberOf } from "../../../src/cluster/member.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

describe("the options of an operator's own NATS", () => {
  const temporary = temporaryDirectories();
  let file = "";
  let empty = "";
  before(() => {
    const directory = temporary();
    [file, empty] = [join(directory, "given"), join(directory, "empty")];
    writeFileSync(file, "text");
    writeFileSync(empty, "");
  });

  const memberWith = (config: Partial<MemberConfig>) =>
    memberOf(
      {
        ...{ cachedir: "/c", id: "m1", interface: "127.0.0.1" },
        ...{ cluster_id: "prod", cluster_secret: "a-secret-of-16-or-more", cluster_secret_file: null },
        ...{ cluster_peers: [], cluster_pool_port: 4_520, cluster_nats_server: null },
        ...{ cluster_nats_servers: ["n1"], cluster_nats_credentials: null, cluster_nats_nkey_file: null },
        ...{ cluster_nats_user: null, cluster_nats_password_file: null, cluster_nats_tls_first: false },
        ...{ cluster_nats_tls_ca: null, cluster_nats_tls_cert: null, cluster_nats_tls_key: null },
        ...config,
      },
      "host",
    );
  const natsWith = (config: Partial<MemberConfig>) => memberWith(config)?.operatorNats;

  it("take servers in each form, with 4222 as their port", () => {
    const member = memberWith({
      cluster_nats_servers: ["n1", "n2:4223", "nats://n3/", "nats://10.0.0.1:5", "[::1]", "nats://[::2]:7"],
    });
    assert.deepEqual(member?.operatorNats?.servers, [
      ...["n1:4222", "n2:4223", "n3:4222", "10.0.0.1:5"],
      ...["[::1]:4222", "[::2]:7"],
    ]);
    assert.equal(member?.operatorNats?.tls, undefined);
    assert.equal(member?.replicas, 3);
    assert.deepEqual(member?.peers, []);
  });

  it("demand TLS by tls://, by a file for it, and by cluster_nats_tls_first", () => {
    assert.deepEqual(natsWith({ cluster_nats_servers: ["n1", "tls://n2"] })?.tls, { handshakeFirst: false });
    assert.deepEqual(natsWith({ cluster_nats_tls_ca: file })?.tls, { caFile: file, handshakeFirst: false });
    assert.deepEqual(natsWith({ cluster_nats_tls_first: true })?.tls, { handshakeFirst: true });
  });

  it("name one kind of credentials, by files", () => {
    assert.deepEqual(natsWith({})?.credentials, { kind: "none" });
    assert.deepEqual(natsWith({ cluster_nats_credentials: file })?.credentials, { kind: "creds", file });
    assert.deepEqual(natsWith({ cluster_nats_nkey_file: file })?.credentials, { kind: "nkey", file });
    const password = { cluster_nats_user: "u", cluster_nats_password_file: file };
    for (const server of ["tls://n1", "127.0.0.1", "[::1]:4222", "localhost"])
      assert.deepEqual(natsWith({ ...password, cluster_nats_servers: [server] })?.credentials, {
        ...{ kind: "password", user: "u", file },
      });
  });

  const refused: readonly (readonly [string, () => Partial<MemberConfig>, RegExp])[] = [
    ["cluster_peers", () => ({ cluster_peers: ["a", "b"] }), /^cluster_peers and cluster_nats_servers are both set/],
    ["cluster_pool_port", () => ({ cluster_pool_port: 4_521 }), /^cluster_pool_port and cluster_nats_servers/],
    ["a server program", () => ({ cluster_nats_server: "/n" }), /^cluster_nats_server and cluster_nats_servers/],
    ["another scheme", () => ({ cluster_nats_servers: ["ws://n1"] }), /"ws:\/\/n1" is not HOST/],
    ["a port that is too high", () => ({ cluster_nats_servers: ["n1:65536"] }), /is not HOST/],
    ["a number", () => ({ cluster_nats_servers: [1] }), /cluster_nats_servers: 1 is not HOST/],
    ["a user without a password", () => ({ cluster_nats_user: "u" }), /belong together/],
    ["a password without a user", () => ({ cluster_nats_password_file: file }), /belong together/],
    [
      "a password in clear on a network",
      () => ({
        ...{ cluster_nats_user: "u", cluster_nats_password_file: file },
        cluster_nats_servers: ["127.0.0.1", "n1"],
      }),
      /^cluster_nats_user: its password would go over the network in clear/,
    ],
    ["a certificate without a key", () => ({ cluster_nats_tls_cert: file }), /cluster_nats_tls_key belong together/],
    [
      "two kinds of credentials",
      () => ({ cluster_nats_credentials: file, cluster_nats_nkey_file: file }),
      /only one of them/,
    ],
    [
      "a relative file",
      () => ({ cluster_nats_nkey_file: "seed" }),
      /cluster_nats_nkey_file: seed is not an absolute path/,
    ],
    [
      "a file that is not there",
      () => ({ cluster_nats_tls_ca: "/none" }),
      /cluster_nats_tls_ca: \/none cannot be read/,
    ],
    ["an empty file", () => ({ cluster_nats_credentials: empty }), /cluster_nats_credentials: .* is empty/],
    [
      "an option of it without servers",
      () => ({ cluster_nats_servers: [], cluster_nats_user: "u", cluster_peers: ["a", "b"] }),
      /^cluster_nats_user is set without cluster_nats_servers/,
    ],
  ];
  for (const [what, config, why] of refused)
    it(`refuse ${what}`, () => {
      assert.throws(() => natsWith(config()), { code: "CONFIG_INVALID", message: why });
    });

  it("refuse a password in an address, and do not show it", () => {
    assert.throws(
      () => natsWith({ cluster_nats_servers: ["nats://u:hidden@n1"] }),
      ({ message }: Error) => /cluster_nats_password_file/.test(message) && !message.includes("hidden"),
    );
  });

  it("are not needed with peers", () => {
    const member = memberWith({ cluster_nats_servers: [], cluster_peers: ["a", "b"] });
    assert.equal(member?.operatorNats, undefined);
    assert.equal(member?.replicas, 3);
  });
});
