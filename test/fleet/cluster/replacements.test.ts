/** What docs/cluster.md says of a machine that takes the place of another one, and of a change of the secret, done as written there. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { freePorts } from "../../../bench/free-ports.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";
import { createKey, joinsOf, killMachine, memberAt, memberConfigs, startMembers, untilSo } from "./members.ts";
import { Subscriber } from "./subscriber.ts";

const skip = await natsServerSkip();
const cliTimeoutMs = 60_000;
/** A new server takes its records one after the other. */
const takenMs = 180_000;
const places = [0, 1, 2] as const;

describe("a machine in a cluster that is replaced, and a secret that is changed", { skip, timeout: 600_000 }, () => {
  const ids = ["web1", "web2", "web3"];
  const minionKeys = new Map(ids.map((id) => [id, createKey()]));
  let configs: Awaited<ReturnType<typeof memberConfigs>>;
  let members: MasterProcess[] = [];

  const member = (at: number) => memberAt(members, at);
  const joins = (at: number) => joinsOf(member(at));
  const run = async (at: number, ...words: readonly string[]) => {
    const { exitCode, stdout, stderr } = await runCli([...words, "-c", member(at).configDirectory], cliTimeoutMs);
    return { exitCode, stdout, stderr };
  };
  const answering = async (at: number): Promise<number> => {
    const { stdout } = await run(at, "cluster", "status", "--json");
    if (stdout === "") return 0;
    const { servers } = JSON.parse(stdout) as { servers: { isAnswering: boolean }[] };
    return servers.filter(({ isAnswering }) => isAnswering).length;
  };
  const untilAllAnswer = (at: number) =>
    untilSo("all servers answer", async () => (await answering(at)) === 3, takenMs);
  const masterKey = (at: number) => readFileSync(join(member(at).pkiDirectory, "master.pem"), "utf8");
  const hasKeys = (at: number) => ids.every((id) => existsSync(join(member(at).pkiDirectory, "minions", id)));
  const configure = (at: number, changes: object) => {
    const file = join(member(at).configDirectory, "master");
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, "utf8")) as object), ...changes }));
  };

  /** A minion at member `at` gets the job that each member publishes, and its return is known to each. */
  async function works(at: number, id: string): Promise<void> {
    const key = minionKeys.get(id) ?? assert.fail(id);
    const minion = await Subscriber.open(id, key, member(at), member(at));
    try {
      for (const from of places) {
        let jid = "";
        // A subscription takes a moment, and so does a new leader.
        await untilSo(`${id} at member ${at} has a job of member ${from}`, async () => {
          const { stdout } = await run(from, "salt", "--async", id, "test.ping");
          jid = /\b\d{20}\b/.exec(stdout)?.[0] ?? "";
          const endMs = performance.now() + 1_000;
          while (jid !== "" && !minion.has(jid) && performance.now() < endMs) {
            await pause(50);
            await minion.renew();
          }
          return jid !== "" && minion.has(jid);
        });
        await minion.probe.return(jid);
        for (const to of places)
          await untilSo(`member ${to} has the return`, async () => {
            const { stdout } = await run(to, "run", "--out=json", "jobs.lookup_jid", jid);
            return stdout.startsWith("{") && id in (JSON.parse(stdout) as object);
          });
      }
    } finally {
      minion.close();
    }
  }

  before(async () => {
    configs = await memberConfigs(3, { presence_timeout: 3_600 });
    members = await startMembers(configs);
    for (const [id, { publicPem }] of minionKeys) writeFileSync(join(member(0).pkiDirectory, "minions", id), publicPem);
    await untilSo("all have the keys", () => places.every(hasKeys));
    await untilAllAnswer(0);
  });
  after(async () => {
    await Promise.all(members.map((one) => one.remove()));
  });

  it("a new machine with the old one's id and address takes all from the others", async () => {
    const key = masterKey(0);
    const [config] = configs.slice(2);
    await killMachine(member(2));
    await member(2).remove();
    members[2] = await startOurMaster(20, config ?? {});
    await untilSo("it has joined", () => joins(2) === 1, takenMs);
    await untilSo("it has the keys", () => hasKeys(2), takenMs);
    assert.equal(masterKey(2), key);
    await untilAllAnswer(0);
    await works(2, "web1");
  });

  it("a new machine with another address, which the others are told one after the other", async () => {
    const [port = 0] = await freePorts(1);
    const peerOf = (at: number) => `127.0.0.1:${String(at === 2 ? port : configs[at]?.cluster_pool_port)}`;
    await killMachine(member(2));
    await member(2).remove();
    const own = { cluster_pool_port: port, cluster_peers: [0, 1].map(peerOf) };
    for (const at of [0, 1]) {
      configure(at, { cluster_peers: places.filter((other) => other !== at).map(peerOf) });
      await member(at).stop();
      if (at === 0) {
        // Two of three must answer: the new one starts with the first that knows it.
        const [, started] = await Promise.all([member(0).restart(), startOurMaster(20, { ...configs[2], ...own })]);
        members[2] = started;
      } else await member(at).restart();
      await untilSo("two answer at least", async () => (await answering(at)) >= 2);
    }
    await untilAllAnswer(1);
    await untilSo("it has the keys", () => hasKeys(2), takenMs);
    await works(2, "web2");
  });

  it("a new secret on all", async () => {
    const key = masterKey(0);
    const secret = newClusterSecret();
    await Promise.all(members.map((one) => one.stop()));
    for (const at of places) {
      const folder = join(member(at).cacheDirectory, "cluster");
      for (const name of ["jetstream", "keys", "keys.journal"]) rmSync(join(folder, name), { recursive: true });
      configure(at, { cluster_secret: secret });
    }
    const before = places.map(joins);
    await Promise.all(members.map((one) => one.restart()));
    for (const at of places) await untilSo(`member ${at} has joined`, () => joins(at) > (before[at] ?? 0), takenMs);
    for (const at of places) assert.equal(masterKey(at), key);
    assert.ok(places.every(hasKeys));
    await untilAllAnswer(0);
    await works(0, "web3");
    await works(1, "web1");
  });
});
