/** `saltworks cluster init`, `join` and `leave` without a cluster: what they write, and what they refuse. */
import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import { writeOwnFiles } from "../../src/cluster/membership/own-file.ts";
import { loadMasterConfig } from "../../src/config/load.ts";
import {
  asStranger,
  cluster,
  confDir,
  fileIn,
  isRoot,
  peers,
  place,
  secret,
  secretFileIn,
  secretIn,
} from "./cluster-site.ts";
import { TestHost } from "./test-host.ts";

type Refusals = readonly (readonly [what: string, config: object, words: readonly string[], why: RegExp])[];

/** `init` refuses each of the cases, and writes nothing. */
function refusesInit(cases: Refusals): void {
  for (const [what, config, words, why] of cases)
    it(`refuses ${what}, and writes nothing`, async () => {
      const directory = confDir(config);
      const { exitCode, err } = await cluster(directory, ["init", ...words]);
      assert.notEqual(exitCode, 0);
      assert.match(err, why);
      assert.ok(!existsSync(fileIn(directory)) && !existsSync(secretFileIn(directory)));
    });
}

describe("saltworks cluster init", () => {
  it("writes a private file that makes this master a member, and prints the other's commands", async () => {
    const directory = confDir();
    const { exitCode, out, err } = await cluster(directory, [
      "init",
      "--id",
      "prod",
      "--peers",
      "10.0.0.2,10.0.0.3:4521",
    ]);
    assert.equal(exitCode, 0, err);
    assert.equal(statSync(fileIn(directory)).mode & 0o777, 0o644, "commands of all users read it");
    assert.equal(statSync(secretFileIn(directory)).mode & 0o777, 0o600);
    const config = loadMasterConfig(directory);
    assert.deepEqual([config.cluster_id, config.cluster_peers], ["prod", ["10.0.0.2", "10.0.0.3:4521"]]);
    // A peer without a port would have the port of the master on which the command runs.
    assert.match(out, /join --id prod --peers 127\.0\.0\.1:4520,10\.0\.0\.3:4521$/m);
    assert.match(out, /join --id prod --peers 127\.0\.0\.1:4520,10\.0\.0\.2:4520$/m);
    assert.ok(secretIn(directory).length > 32);
    assert.ok(!`${out}${readFileSync(fileIn(directory), "utf8")}`.includes(secretIn(directory)), "it is not shown");
  });

  it("prints no ports if all are the usual one, and all if its own is another", async () => {
    const usual = await cluster(confDir(), ["init", "--id", "prod", "--peers", "10.0.0.2,10.0.0.3:4520"]);
    assert.match(usual.out, /on 10\.0\.0\.2:\n.* --peers 127\.0\.0\.1,10\.0\.0\.3$/m);
    const directory = confDir({ cluster_pool_port: 4_621 });
    const other = await cluster(directory, ["init", "--id", "prod", "--peers", "10.0.0.2,10.0.0.3:4520"]);
    assert.match(other.out, /on 10\.0\.0\.2:4621:\n.* --peers 127\.0\.0\.1:4621,10\.0\.0\.3:4520$/m);
  });

  const refused: Refusals = [
    ["no id", {}, ["--peers", peers], /--id is missing/],
    ["an id of another form", {}, ["--id", "a b", "--peers", peers], /cluster_id must be/],
    ["one peer", {}, ["--id", "prod", "--peers", "10.0.0.2"], /names 1/],
    ["three peers", {}, ["--id", "prod", "--peers", "a,b,c"], /three or five servers, and names 3/],
    ["a peer of another form", {}, ["--id", "prod", "--peers", "a,b:x"], /not HOST or HOST:PORT/],
    ["a peer twice", {}, ["--id", "prod", "--peers", "a,a"], /twice/],
    ["itself", {}, ["--id", "prod", "--peers", "127.0.0.1,b"], /itself/],
    ["the own id", { id: "m2" }, ["--id", "prod", "--peers", "m2,m3"], /id of this master, m2, is a peer's/],
    [
      "a second cluster",
      { cluster_id: "old", cluster_secret: secret, cluster_peers: ["a", "b"] },
      ["--id", "prod", "--peers", peers],
      /member of the cluster old already/,
    ],
    [
      "a file that is not read",
      { default_include: "other.d/*.conf" },
      ["--id", "prod", "--peers", peers],
      /default_include/,
    ],
  ];
  refusesInit(refused);
});

describe("saltworks cluster init and join beside files of the operator's", () => {
  for (const word of ["init", "join"])
    for (const fileOf of [fileIn, secretFileIn])
      it(`${word} refuses ${basename(fileOf(""))} by name, and leaves it as it is`, async () => {
        const directory = confDir();
        mkdirSync(join(directory, "master.d"));
        writeFileSync(fileOf(directory), "# mine\n");
        const words = [word, "--id", "prod", "--peers", peers];
        const { exitCode, err } = await cluster(directory, words, `${secret}\n`);
        assert.equal(exitCode, 1);
        assert.equal(err, `saltworks cluster: CLUSTER_REFUSED: ${fileOf(directory)} exists already: move it away\n`);
        const left = [fileIn, secretFileIn].filter((one) => existsSync(one(directory)));
        assert.deepEqual(left, [fileOf]);
        assert.equal(readFileSync(fileOf(directory), "utf8"), "# mine\n");
      });

  it("a secret that came after the look stays, and nothing else does", () => {
    const directory = confDir();
    writeFileSync(secretFileIn(directory), "mine\n");
    const file = { clusterId: "prod", secret, servers: {} };
    assert.throws(() => writeOwnFiles(directory, file, undefined), { code: "CLUSTER_REFUSED" });
    assert.equal(secretIn(directory), "mine");
    assert.ok(!existsSync(fileIn(directory)));
  });
});

describe("saltworks cluster init and join by a user that may not write", () => {
  for (const word of ["init", "join"])
    for (const hasFolder of [false, true])
      it(`${word} names the missing right in one line, ${hasFolder ? "with" : "without"} master.d`, async () => {
        const directory = confDir();
        if (hasFolder) mkdirSync(join(directory, "master.d"), { mode: 0o555 });
        chmodSync(directory, 0o555);
        const words = [word, "--id", "prod", "--peers", peers];
        const { exitCode, err } = await asStranger(() => cluster(directory, words, `${secret}\n`));
        chmodSync(directory, 0o755);
        assert.equal(exitCode, 1);
        const lines = err.split("\n").filter((line) => line !== "" && !line.includes("cannot be reached"));
        assert.match(lines.join("\n"), /^saltworks cluster: EACCES: permission denied, .*$/);
        assert.ok(!existsSync(fileIn(directory)) && !existsSync(secretFileIn(directory)));
      });

  it("takes the secret back if the other file cannot be written", async () => {
    const directory = confDir();
    mkdirSync(join(directory, "master.d"), { mode: 0o555 });
    if (isRoot) chownSync(directory, 65_534, 65_534);
    const { exitCode, err } = await asStranger(() => cluster(directory, ["init", "--id", "prod", "--peers", peers]));
    assert.equal(exitCode, 1);
    assert.match(err, /^saltworks cluster: EACCES: permission denied, .*master\.d.*\n$/);
    assert.ok(!existsSync(fileIn(directory)) && !existsSync(secretFileIn(directory)));
  });
});

describe("saltworks cluster with an operator's own NATS", () => {
  const nats = ["--id", "prod", "--nats-servers", "127.0.0.1:1,tls://127.0.0.1:2"];
  const passwordFile = join(place, "password");
  writeFileSync(passwordFile, "hidden");
  const user = ["--nats-user", "masters", "--nats-password-file", passwordFile];

  it("init writes its options, and prints the others' command", async () => {
    const directory = confDir();
    const { exitCode, out, err } = await cluster(directory, ["init", ...nats, ...user]);
    assert.equal(exitCode, 0, err);
    assert.match(err, /127\.0\.0\.1:1: connection refused/);
    assert.match(out, /No NATS server can be reached, so that nothing is checked/);
    assert.ok(out.includes(`saltworks cluster join ${[...nats, ...user].join(" ")}\n`), out);
    assert.doesNotMatch(out, /witness/);
    const config = loadMasterConfig(directory);
    assert.deepEqual(config.cluster_nats_servers, ["127.0.0.1:1", "tls://127.0.0.1:2"]);
    assert.deepEqual([config.cluster_nats_user, config.cluster_nats_password_file], ["masters", passwordFile]);
    assert.deepEqual(config.cluster_peers, []);
  });

  it("join writes the same, and leave removes it without asking a server", async () => {
    const directory = confDir();
    const joined = await cluster(directory, ["join", ...nats, ...user], `${secret}\n`);
    assert.equal(joined.exitCode, 0, joined.err);
    assert.equal(secretIn(directory), secret);
    const left = await cluster(directory, ["leave", "-y"]);
    assert.equal(left.exitCode, 0, left.err);
    assert.match(left.out, /The records of the cluster prod stay in NATS/);
    assert.ok(!existsSync(fileIn(directory)));
  });

  it("status says that no server can be asked", async () => {
    const directory = confDir();
    await cluster(directory, ["join", ...nats], `${secret}\n`);
    const { exitCode, err } = await cluster(directory, ["status"]);
    assert.equal(exitCode, 2);
    assert.match(err, /NATS \(cluster_nats_servers: 127\.0\.0\.1:1, 127\.0\.0\.1:2\) does not answer/);
  });

  it("permissions names the subjects of one cluster only", async () => {
    const { exitCode, out } = await cluster(confDir(), ["permissions", "--id", "prod"]);
    assert.equal(exitCode, 0);
    const { publish, subscribe } = JSON.parse(out) as Record<string, string[]>;
    assert.deepEqual(subscribe, ["sw_prod.>", "sw.prod.>", "_INBOX_sw_prod.>"]);
    assert.ok(publish?.includes("$KV.sw_prod_keys.>") && publish.includes("$JS.API.STREAM.CREATE.sw_prod_jobs"));
    assert.deepEqual(
      publish?.filter((subject) => !subject.includes("prod")),
      ["$JS.API.INFO"],
    );
    assert.notEqual((await cluster(confDir(), ["permissions"])).exitCode, 0);
    assert.notEqual((await cluster(confDir(), ["permissions", "--id", "a.>"])).exitCode, 0);
  });

  const refused: Refusals = [
    ["peers beside it", {}, [...nats, "--peers", peers], /--peers and --nats-servers are both given/],
    ["its flags without it", {}, ["--id", "prod", ...user], /--nats-user is given without --nats-servers/],
    ["half a user", {}, [...nats, "--nats-user", "u"], /belong together/],
    ["another port for members", { cluster_pool_port: 4_521 }, nats, /cluster_pool_port and cluster_nats_servers/],
  ];
  refusesInit(refused);

  it("witness and a master without cluster_id are refused by name", async () => {
    const host = new TestHost("");
    const servers = { cluster_nats_servers: ["n1"] };
    const member = confDir({ cluster_id: "prod", cluster_secret: secret, ...servers });
    assert.notEqual(await dispatch(["witness", "-c", member], host), 0);
    assert.match(host.err, /cluster_nats_servers is set: a witness runs a server/);
    assert.notEqual(await dispatch(["master", "-c", confDir(servers)], host), 0);
    assert.match(host.err, /cluster_nats_servers is set without cluster_id/);
  });
});

describe("saltworks cluster join", () => {
  it("reads the secret from a pipe, and says that it could not check it", async () => {
    const directory = confDir();
    const words = ["join", "--id", "prod", "--peers", peers];
    const { exitCode, out, err, questions } = await cluster(directory, words, `${secret}\n`);
    assert.equal(exitCode, 0, err);
    assert.match(err, /127\.0\.0\.2:1 cannot be reached: ECONNREFUSED/);
    assert.equal(questions, "", "a pipe is not asked");
    assert.match(out, /the secret is not checked/);
    assert.equal(secretIn(directory), secret);
    assert.equal(loadMasterConfig(directory).cluster_secret_file, secretFileIn(directory));
  });

  it("says what a master with minions must do", async () => {
    const directory = confDir();
    mkdirSync(join(directory, "pki", "minions"), { recursive: true });
    writeFileSync(join(directory, "pki", "minions", "web1"), "key");
    const { out } = await cluster(directory, ["join", "--id", "prod", "--peers", peers], `${secret}\n`);
    assert.match(out, /has 1 accepted keys/);
  });

  it("refuses a short secret and an empty pipe, and writes nothing", async () => {
    const directory = confDir();
    const short = await cluster(directory, ["join", "--id", "prod", "--peers", peers], "short\n");
    assert.match(short.err, /CONFIG_INVALID: cluster_secret: it has 5 characters/);
    const none = await cluster(directory, ["join", "--id", "prod", "--peers", peers]);
    assert.match(none.err, /no secret is given/);
    assert.ok(!existsSync(fileIn(directory)));
  });
});

describe("saltworks cluster leave", () => {
  it("does nothing without a yes", async () => {
    const directory = confDir();
    await cluster(directory, ["init", "--id", "prod", "--peers", peers]);
    for (const input of ["", "n\n"]) {
      const { exitCode } = await cluster(directory, ["leave"], input);
      assert.equal(exitCode, 1);
    }
    assert.match(readFileSync(fileIn(directory), "utf8"), /cluster_id: "prod"/);
    assert.ok(!existsSync(join(directory, "cache", "cluster")));
  });

  const unusable: readonly (readonly [what: string, config: () => object, code: string])[] = [
    ["no nats-server", () => ({ cluster_nats_server: join(place, "no-program") }), "PACKAGE_MISSING"],
    ["an address of another machine", () => ({ ...program(), interface: "192.0.2.1" }), "PORT_UNUSABLE"],
  ];
  /** A file that passes for nats-server as long as it is not started. */
  function program(): object {
    const path = join(place, "nats-server");
    writeFileSync(path, "#!/bin/sh\necho nats-server: v2.15.2\n", { mode: 0o755 });
    return { cluster_nats_server: path };
  }
  for (const [what, config, code] of unusable)
    it(`with ${what} it is refused with a remedy, and works by force`, async () => {
      const directory = confDir(config());
      await cluster(directory, ["init", "--id", "prod", "--peers", peers]);
      const refused = await cluster(directory, ["leave", "-y"]);
      assert.equal(refused.exitCode, 1);
      assert.match(refused.err, new RegExp(`^saltworks cluster: ${code}: .*With --force this master leaves`));
      assert.ok(existsSync(fileIn(directory)));
      const forced = await cluster(directory, ["leave", "-y", "--force"]);
      assert.equal(forced.exitCode, 0, forced.err);
      assert.match(forced.out, /The others may still count m1 as a server that is down/);
      assert.ok(!existsSync(fileIn(directory)) && !existsSync(secretFileIn(directory)));
    });

  it("works with the rights of the master's user, who may have put a link in root's way", {
    skip: !isRoot && "only root has rights to lose",
  }, async () => {
    chmodSync(place, 0o755);
    const directory = confDir({ user: "nobody", ...program() });
    await cluster(directory, ["init", "--id", "prod", "--peers", peers]);
    const target = join(directory, "of-root");
    mkdirSync(target, { mode: 0o755 });
    mkdirSync(join(directory, "cache"));
    symlinkSync(target, join(directory, "cache", "cluster"));
    mkdirSync(join(directory, "pki"));
    const { uid } = statSync(secretFileIn(directory));
    assert.notEqual(uid, 0);
    for (const name of ["cache", "pki"]) chownSync(join(directory, name), uid, uid);
    await cluster(directory, ["leave", "-y", "--force"]).catch((error: NodeJS.ErrnoException) =>
      assert.match(`${error.code}`, /^E(?:PERM|ACCES)$/),
    );
    assert.equal(statSync(target).mode & 0o777, 0o755);
    assert.deepEqual(readdirSync(target), []);
    assert.equal(process.geteuid?.(), 0);
  });

  it("refuses a master that is not a member", async () => {
    const { exitCode, err } = await cluster(confDir(), ["leave", "-y"]);
    assert.equal(exitCode, 1);
    assert.match(err, /not a member/);
  });
});
