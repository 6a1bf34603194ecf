/** Masters as one cluster on an operator's own NATS: three servers with TLS and users that may only do what a member needs. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { nkeys } from "@nats-io/nats-core";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { connectCluster } from "../../../src/cluster/connection.ts";
import { encodeJob } from "../../../src/cluster/jobs/record.ts";
import { bucketKeyOf, encodeEntry } from "../../../src/cluster/keys/entry.ts";
import { clusterNames } from "../../../src/cluster/names.ts";
import { natsPermissions } from "../../../src/cluster/operator/permissions.ts";
import { operatorServers } from "../../../src/cluster/operator/servers.ts";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { sharedJob } from "../../cluster/jobs/members.ts";
import { OperatorServers } from "../../cluster/operator/servers.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { readCounters, startOurMaster, sumOf } from "../our-master.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { runCli } from "../run-cli.ts";
import { createKey, joinsOf, logOf, memberAt, startMembers, untilSo } from "./members.ts";
import { Subscriber } from "./subscriber.ts";

const clusterId = "test";
const skip = await natsServerSkip();
const cliTimeoutMs = 60_000;
const password = "a-password-of-the-operator";
const places = [0, 1] as const;

describe("members on an operator's own NATS", { skip, timeout: 600_000 }, () => {
  const secret = newClusterSecret();
  const nkey = nkeys.createUser();
  const permissions = natsPermissions(clusterId);
  let servers: OperatorServers;
  let members: MasterProcess[] = [];
  let minions: Subscriber[] = [];

  const member = (at: number) => memberAt(members, at);
  const log = (at: number) => logOf(member(at));
  const cli = (at: number, command: string, ...args: readonly string[]) =>
    runCli([command, "-c", member(at).configDirectory, ...args], cliTimeoutMs);
  const hasKey = (at: number, folder: string, id: string) => existsSync(join(member(at).pkiDirectory, folder, id));
  const byPassword = (words: string) => ({
    cluster_nats_user: "masters",
    cluster_nats_password_file: servers.file(`password-${words.length}`, `${words}\n`),
  });
  const config = (id: string, more: object) => ({
    ...{ id, cluster_id: clusterId, cluster_secret: secret, worker_threads: 1, log_level: "debug" },
    ...{ cluster_nats_servers: servers.addresses, cluster_nats_tls_ca: servers.certificates.ca },
    ...{ presence_timeout: 3_600, cluster_join_timeout: 30, ...more },
  });
  const publish = async (at: number, target = "*"): Promise<string> => {
    const { stdout, stderr, exitCode } = await cli(at, "salt", "--async", target, "test.ping");
    assert.equal(exitCode, 0, stderr);
    return /\b\d{20}\b/.exec(stdout)?.[0] ?? assert.fail(stdout);
  };

  before(async () => {
    servers = await OperatorServers.start({
      more: {
        accounts: {
          MASTERS: {
            jetstream: "enabled",
            users: [
              { user: "masters", password, permissions },
              { nkey: nkey.getPublicKey(), permissions },
            ],
          },
          PLAIN: { users: [{ user: "plain", password }] },
        },
      },
    });
    const seed = servers.file("seed", `${Buffer.from(nkey.getSeed()).toString()}\n`);
    members = await startMembers([
      config("member1", byPassword(password)),
      config("member2", { cluster_nats_nkey_file: seed }),
    ]);
    await Promise.all(places.map((at) => untilSo(`member ${at} joined`, () => joinsOf(member(at)) > 0)));
  });
  after(async () => {
    for (const one of minions) one.close();
    await Promise.all(members.map((one) => one.remove()));
    await servers?.close();
  });

  it("have one key pair, and start no server", () => {
    const keys = members.map(({ pkiDirectory }) => readFileSync(join(pkiDirectory, "master.pem"), "utf8"));
    assert.equal(new Set(keys).size, 1);
    for (const { cacheDirectory } of members)
      for (const file of ["nats-server.pid", "nats-server.conf"])
        assert.ok(!existsSync(join(cacheDirectory, "cluster", file)));
  });

  it("share a key that one of them accepts", async () => {
    const key = createKey();
    await assert.rejects(ProbeMinion.open("web1", key, member(0).requestPort), /not accepted/);
    await untilSo("it waits at the other", () => hasKey(1, "minions_pre", "web1"));
    assert.equal((await cli(1, "key", "-y", "-a", "web1")).exitCode, 0);
    await untilSo("it is accepted at the first", () => hasKey(0, "minions", "web1"));
    writeFileSync(join(member(0).pkiDirectory, "minions", "web2"), createKey().publicPem);
    await untilSo("the other has web2", () => hasKey(1, "minions", "web2"));
    minions = [await Subscriber.open("web1", key, member(1), member(1))];
    const client = member(1).client();
    const isSubscribed = async () => sumOf(await readCounters(client), /^publishes\.subscribers$/) === 1;
    await untilSo("it is subscribed", isSubscribed);
    client.close();
  });

  it("answer with the returns of another's minion to a job of one", async () => {
    const [minion] = minions;
    assert.ok(minion !== undefined);
    const jid = await publish(0, "web1");
    await untilSo("web1 has the job", () => minion.has(jid));
    await minion.probe.return(jid);
    await untilSo("the first has the return", async () => {
      const { stdout } = await cli(0, "run", "--out", "json", "jobs.lookup_jid", jid);
      return "web1" in (JSON.parse(stdout) as object);
    });
    assert.ok(minion.serialsRise());
  });

  it("share a minion's grains", async () => {
    const [minion] = minions;
    assert.ok(minion !== undefined);
    await minion.probe.pillar({ color: "blue" }, member(1).requestPort);
    await untilSo("the first has them", async () => {
      const { stdout } = await cli(0, "run", "--out", "json", "cache.grains", "tgt=web1");
      return stdout.includes("blue");
    });
  });

  it("ask the owner of a waiting job to withdraw it", async () => {
    const { stdout, stderr } = await cli(0, "salt", "--async", "--deliver-within", "1h", "web2", "test.ping");
    const jid = /\b\d{20}\b/.exec(stdout)?.[0] ?? assert.fail(stderr);
    const isListed = async (at: number) => {
      const listed = await cli(at, "run", "--out", "json", "jobs.pending");
      return jid in (JSON.parse(listed.stdout) as object);
    };
    await untilSo("the other lists it", () => isListed(1));
    const withdrawn = await cli(1, "run", "--out", "json", "jobs.cancel", jid);
    assert.match(withdrawn.stdout, /web2/, withdrawn.stderr);
    for (const at of places) await untilSo(`member ${at} lists none`, async () => !(await isListed(at)));
  });

  it("seal what others on the same NATS could read or forge", async () => {
    const file = servers.file("forger", password);
    const operatorNats = {
      servers: servers.addresses.map((address) => address.replace("tls://", "")),
      credentials: { kind: "password", user: "masters", file },
      tls: { caFile: servers.certificates.ca, handshakeFirst: false },
    } as const;
    // The right user, without the cluster's secret.
    const { access } = operatorServers(operatorNats, clusterId, Buffer.alloc(32));
    const { nats, jetstream, manager, kvm } = await connectCluster({ ...access, name: "forger", waitMs: 10_000 });
    try {
      const { jobs, keyBucket, returnStreams } = clusterNames(clusterId);
      const jid = await publish(0, "web1");
      const stored = await manager.streams.getMessage(jobs, { last_by_subj: jobs });
      const key = await (await kvm.open(keyBucket)).get(bucketKeyOf("web1"));
      assert.ok(stored !== null && key !== null);
      const returns = await Promise.all(
        returnStreams.map((name) => manager.streams.getMessage(name, { last_by_subj: name })),
      );
      const returned = returns.flatMap((one) => (one === null ? [] : [one.data]));
      assert.ok(returned.length > 0);
      for (const bytes of [stored.data, key.value, ...returned])
        for (const word of [jid, "test.ping", "PUBLIC KEY", "member1", "member2"])
          assert.ok(!Buffer.from(bytes).includes(word), word);
      await jetstream.publish(jobs, encodeJob(sharedJob("20300101000000000000"), "member1", Date.now()));
      await untilSo("the job is refused", () =>
        places.every((at) => log(at).includes("is not sealed under this member's cluster_secret")),
      );
      const keys = { accepted: createKey().publicPem };
      await (await kvm.open(keyBucket)).put(bucketKeyOf("evil"), encodeEntry({ id: "evil", by: "member1", keys }));
      await untilSo("the key is ignored", () => places.every((at) => log(at).includes("entry of evil")));
      // A job behind the forged ones is taken, so that they had their turn.
      const next = await publish(1, "web1");
      await untilSo("web1 has it", () => minions[0]?.has(next) === true);
      assert.equal(minions[0]?.has("20300101000000000000"), false);
      for (const at of places) assert.ok(!hasKey(at, "minions", "evil"));
    } finally {
      await nats.close();
    }
  });

  it("show the servers that keep their streams, and compare themselves", async () => {
    const { exitCode, stdout, stderr } = await cli(0, "cluster", "status");
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^Cluster test: 3 of 3 servers of cluster_nats_servers that keep its streams answer\n/);
    assert.match(stdout, /^ {2}n1 {2}answers/m);
    assert.match(stdout, /^Owners of jobs:\n {2}member1 {2}\d.* jobs?\n {2}member2 {2}\d.* jobs?\n/m);
    const check = await cli(1, "cluster", "check", "--json");
    const report = JSON.parse(check.stdout) as { readonly members: readonly { readonly name: string }[] };
    assert.deepEqual(
      report.members.map(({ name }) => name),
      ["member1", "member2"],
    );
  });

  it("go on without one of three servers, and say so", async () => {
    await servers.kill(2);
    await untilSo("it is seen", async () => (await cli(0, "cluster", "status")).stdout.includes("n3  TAKES NO PART"));
    await untilSo("the log says so", () => log(0).includes("keeps none of the cluster's new records"));
    await untilSo("a job is taken", async () => (await cli(1, "salt", "--async", "web1", "test.ping")).exitCode === 0);
    await servers.run(2);
    await untilSo("it is back", async () => (await cli(0, "cluster", "status")).stdout.includes("3 of 3"));
  });

  const refusals: readonly (readonly [string, () => object, RegExp])[] = [
    [
      "a wrong password",
      () => byPassword("another"),
      /CLUSTER_REFUSED.*refuses this member's credentials.*cluster_nats_password_file/,
    ],
    [
      "an account without JetStream",
      () => ({ ...byPassword(password), cluster_nats_user: "plain" }),
      /CLUSTER_REFUSED.*has no JetStream for this member's account/,
    ],
    [
      "a certificate of another authority",
      () => ({ ...byPassword(password), cluster_nats_tls_ca: servers.certificates.otherCa }),
      /CLUSTER_REFUSED.*not trusted.*cluster_nats_tls_ca/,
    ],
    [
      "another cluster_secret",
      () => ({ ...byPassword(password), cluster_secret: newClusterSecret() }),
      /CLUSTER_REFUSED.*another cluster_secret/,
    ],
    [
      "servers that do not answer",
      () => ({ ...byPassword(password), cluster_nats_servers: ["tls://127.0.0.1:1"], cluster_join_timeout: 1 }),
      /CLUSTER_UNAVAILABLE.*NATS \(cluster_nats_servers: 127\.0\.0\.1:1\) does not answer.*refused/,
    ],
  ];
  for (const [what, more, text] of refusals)
    it(`refuse ${what} by name`, async () => {
      await assert.rejects(startOurMaster(20, config("stranger", more())), (error: Error) => {
        assert.match(error.message, text);
        assert.ok(!error.message.includes(password) && !error.message.includes(secret));
        return true;
      });
    });

  it("have no secret in a log, and need no more permissions", () => {
    const seed = Buffer.from(nkey.getSeed()).toString();
    for (const at of places)
      for (const word of [password, secret, seed, "Permissions Violation"])
        assert.ok(!log(at).includes(word), `log of member ${at + 1}`);
  });

  it("start alone while no server answers, and join when they are back", async () => {
    await member(0).stop();
    await Promise.all([0, 1, 2].map((at) => servers.kill(at)));
    const before = joinsOf(member(0));
    await member(0).restart();
    assert.match(log(0), /NATS servers do not answer/);
    await Promise.all([0, 1, 2].map((at) => servers.run(at)));
    await untilSo("it joins", () => joinsOf(member(0)) > before);
    await untilSo("a job is taken", async () => (await cli(1, "salt", "--async", "web1", "test.ping")).exitCode === 0);
  });

  it("leave without a change of the servers", async () => {
    await member(1).stop();
    const { exitCode, stdout, stderr } = await cli(1, "cluster", "leave", "-y");
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /records of the cluster test stay in NATS/);
    assert.match(stdout, /: cluster_nats_servers\n/);
    const status = await cli(0, "cluster", "status");
    assert.match(status.stdout, /3 of 3/);
  });
});

describe("members on an operator's own NATS that has too few servers", { skip, timeout: 120_000 }, () => {
  it("say so when they cannot begin", async () => {
    const more = { accounts: { MASTERS: { jetstream: "enabled", users: [{ user: "masters", password }] } } };
    const servers = await OperatorServers.start({ more, count: 2 });
    try {
      const member = {
        ...{ id: "member1", cluster_id: clusterId, cluster_secret: newClusterSecret(), cluster_join_timeout: 8 },
        ...{ cluster_nats_servers: servers.addresses, cluster_nats_tls_ca: servers.certificates.ca },
        ...{ cluster_nats_user: "masters", cluster_nats_password_file: servers.file("password", password) },
      };
      await assert.rejects(startOurMaster(20, member), /CLUSTER_UNAVAILABLE.*three of the NATS servers need JetStream/);
    } finally {
      await servers.close();
    }
  });
});
