/**
 * Stock minions of a cluster: behind one address, where a balancer gives each connection to another member; and with lists of masters. They answer jobs
 * from every member, also after one of them was killed.
 */
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { freePort, freePorts } from "../../../bench/free-ports.ts";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { runCli } from "../../fleet/run-cli.ts";
import { haproxySkip, startHaproxy } from "../../services/haproxy.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import type { Program } from "../program.ts";
import { findRelease, type SaltRelease, testedReleases } from "../salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";

const releases = (await Promise.all(testedReleases.map(findRelease))).filter((found) => found !== undefined);
const lacking = releases.length === testedReleases.length ? false : "not all releases of Salt are installed";
const skip = haproxySkip() || (await natsServerSkip()) || lacking;

const hosts = ["127.0.0.11", "127.0.0.12", "127.0.0.13"];
const commandTimeoutMs = 60_000;
const answerTimeoutMs = 180_000;

describe("stock minions of a cluster", { skip, timeout: 900_000 }, () => {
  const bed = new TestBed();
  const members: MasterUnderTest[] = [];
  const ids: string[] = [];
  const minions: MinionUnderTest[] = [];
  let balancer: Program | undefined;

  before(async () => {
    const [publishPort, requestPort] = [await freePort(), await freePort()];
    const pools = await freePorts(hosts.length);
    const secret = newClusterSecret();
    for (const [at, host] of hosts.entries()) {
      const options = {
        interface: host,
        publish_port: publishPort,
        ret_port: requestPort,
        cluster_id: "interop",
        cluster_secret: secret,
        cluster_pool_port: pools[at],
        cluster_peers: hosts.flatMap((other, peer) => (other === host ? [] : [`${other}:${pools[peer]}`])),
        auto_accept: true,
        worker_threads: 1,
      };
      members.push(await MasterUnderTest.create(bed, "ours", options, `member${at + 1}`));
    }
    await Promise.all(members.map((member) => member.start()));
    await Promise.all(members.map(({ program }) => program.untilLine(/joined the cluster/, commandTimeoutMs)));
    balancer = startHaproxy(bed.folder, hosts, [publishPort, requestPort]);
    const [member] = members;
    const [, salt3007] = releases as [SaltRelease, SaltRelease, SaltRelease];
    assert.ok(member !== undefined);
    const ports = { publish_port: publishPort, master_port: requestPort };
    const start = (maker: SaltRelease | "ours", id: string, options: object) => {
      ids.push(id);
      minions.push(new MinionUnderTest(member, maker, id, { ...ports, ...options }));
    };
    for (const release of releases) start(release, `behind-${release.name}`, {});
    start("ours", "behind-ours", {});
    start(salt3007, "list-all", { master: hosts });
    start(salt3007, "list-failover", {
      master: hosts,
      master_type: "failover",
      master_alive_interval: 2,
      retry_dns: 0,
    });
  });
  after(async () => {
    await balancer?.kill();
    await bed.close();
  });

  /** Pings all minions through a member until all have answered once. */
  async function untilAllAnswer(member: MasterUnderTest, target: readonly string[]): Promise<void> {
    const endMs = performance.now() + answerTimeoutMs;
    let silent: readonly string[] = ids;
    while (silent.length > 0) {
      if (performance.now() > endMs) throw new Error(`no answer from ${silent.join(" ")}`);
      const words = ["salt", "-c", member.configDir, "-t", "10", ...target, "test.ping", "--out", "json", "--static"];
      const { stdout } = await runCli(words, commandTimeoutMs);
      const start = stdout.indexOf("{");
      const answers = start < 0 ? {} : (JSON.parse(stdout.slice(start)) as Record<string, unknown>);
      silent = ids.filter((id) => answers[id] !== true);
    }
  }

  bed.it("answer through every member, wherever their connections ended", async () => {
    for (const member of members) await untilAllAnswer(member, ["*"]);
  });

  bed.it("match by grains on every member", async () => {
    for (const member of members) await untilAllAnswer(member, ["-G", "kernel:Linux"]);
  });

  bed.it("run a job once, though some hear it from several members, and all members have its returns", async () => {
    const [first] = members;
    assert.ok(first !== undefined);
    const words = ["salt", "-c", first.configDir, "--async", "*", "test.echo", "once"];
    const { stdout } = await runCli(words, commandTimeoutMs);
    const jid = /\d{20}/.exec(stdout)?.[0];
    assert.ok(jid !== undefined, stdout);
    for (const member of members) {
      const lookup = ["run", "-c", member.configDir, "jobs.lookup_jid", jid, "--out", "json"];
      await untilSo("all have returned", async () => {
        const answer = JSON.parse((await runCli(lookup, commandTimeoutMs)).stdout) as Record<string, unknown>;
        return ids.every((id) => answer[id] === "once");
      });
    }
    for (const { id, maker, program } of minions) {
      const starts: number = program.output.split(`Starting a new job ${jid}`).length - 1;
      if (maker !== "ours") assert.equal(starts, 1, `${id} started the job ${starts} times`);
    }
  });

  bed.it("answer through the others when one was killed", async () => {
    const [lost, ...others] = members;
    await lost?.program.kill();
    for (const member of others) await untilAllAnswer(member, ["*"]);
  });
});
