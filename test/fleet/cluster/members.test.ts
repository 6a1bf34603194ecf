/** Three masters as one cluster: one key pair, one AES key, one set of minion keys; members that are killed, cut off, or do not fit. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { hasCode } from "../../../src/errors.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { startOurMaster } from "../our-master.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { runCli } from "../run-cli.ts";
import { createKey, joinsOf, killMachine, memberConfigs, startMembers, untilAnswer, untilSo } from "./members.ts";

const skip = await natsServerSkip();
const cliTimeoutMs = 60_000;

describe("three members of a cluster", { skip, timeout: 600_000 }, () => {
  const secret = newClusterSecret();
  let configs: Awaited<ReturnType<typeof memberConfigs>>;
  let members: MasterProcess[] = [];

  const member = (at: number): MasterProcess => {
    const found = members[at];
    assert.ok(found !== undefined);
    return found;
  };
  const log = (at: number) => readFileSync(join(member(at).directory, "output"), "utf8");
  const joins = (at: number) => joinsOf(member(at));
  const untilJoined = (at: number, count = 1) => untilSo(`member ${at} joined`, () => joins(at) >= count);
  const keyFile = (at: number, folder: string, id: string) => join(member(at).pkiDirectory, folder, id);
  const key = (at: number, ...args: readonly string[]) =>
    runCli(["key", "-c", member(at).configDirectory, "-y", ...args], cliTimeoutMs);
  const status = async (at: number) => {
    const { exitCode, stdout } = await runCli(
      ["cluster", "status", "-c", member(at).configDirectory, "--json"],
      cliTimeoutMs,
    );
    const none = { servers: [] as { name: string; isAnswering: boolean }[] };
    return { exitCode, ...(stdout === "" ? none : (JSON.parse(stdout) as typeof none)) };
  };
  type Status = Awaited<ReturnType<typeof status>>;

  const isServed = async (minion: ProbeMinion, at: number) => {
    try {
      return (await minion.pillar({}, member(at).requestPort)) instanceof Map;
    } catch (error) {
      if (hasCode(error, "REQUEST_REFUSED")) return false;
      throw error;
    }
  };

  before(async () => {
    configs = await memberConfigs(3, {}, secret);
    members = await startMembers(configs);
    await Promise.all(members.map((_, at) => untilJoined(at)));
  });
  after(async () => {
    await Promise.all(members.map((one) => one.remove()));
  });

  it("have one key pair, and tell their servers", async () => {
    const keys = members.map(({ pkiDirectory }) => readFileSync(join(pkiDirectory, "master.pem"), "utf8"));
    assert.equal(new Set(keys).size, 1);
    const isWhole = ({ exitCode, servers }: Status) =>
      exitCode === 0 && servers.filter(({ isAnswering }) => isAnswering).length === 3;
    const { servers } = await untilAnswer("all answer", () => status(0), isWhole);
    assert.deepEqual(
      servers.map(({ name, isAnswering }) => [name, isAnswering]),
      [1, 2, 3].map((number) => [`member${number}`, true]),
    );
  });

  it("accept a minion's key on one, and each of the others serves the minion", async () => {
    const minionKey = createKey();
    await assert.rejects(ProbeMinion.open("web1", minionKey, member(0).requestPort), /not accepted/);
    await untilSo("it waits everywhere", () => [0, 1, 2].every((at) => existsSync(keyFile(at, "minions_pre", "web1"))));
    assert.equal((await key(1, "-a", "web1")).exitCode, 0);
    await untilSo("it is accepted everywhere", () =>
      [0, 1, 2].every((at) => existsSync(keyFile(at, "minions", "web1"))),
    );
    const moving = await ProbeMinion.open("web1", minionKey, member(0).requestPort);
    // A member's workers hear of a key some milliseconds after its file is there.
    for (const at of [1, 2]) await untilSo("served without _auth", () => isServed(moving, at), 10_000);
    moving.close();
    const probes = await Promise.all(
      members.map(({ requestPort }) => ProbeMinion.open("web1", minionKey, requestPort)),
    );
    const aes = probes.map(({ keys }) => keys.aes.text);
    assert.equal(new Set(aes).size, 1, "minions get one AES key from all");
    for (const probe of probes) probe.close();
  });

  it("get one new AES key when a key is deleted on one", async () => {
    const rotations = () => members.map((_, at) => log(at).split("rotated the AES key").length - 1);
    const before = rotations();
    assert.equal((await key(2, "-d", "web1")).exitCode, 0);
    await untilSo("it is gone everywhere", () => [0, 1, 2].every((at) => !existsSync(keyFile(at, "minions", "web1"))));
    await untilSo("all have rotated", () => rotations().every((count, at) => count > (before[at] ?? 0)));
    const minionKey = createKey();
    assert.equal((await runCli(["key", "-c", member(0).configDirectory, "-L"], cliTimeoutMs)).exitCode, 0);
    await assert.rejects(ProbeMinion.open("web2", minionKey, member(0).requestPort), /not accepted/);
    await untilSo("web2 waits", () => existsSync(keyFile(1, "minions_pre", "web2")));
    assert.equal((await key(1, "-a", "web2")).exitCode, 0);
    await untilSo("web2 is accepted", () => [0, 1, 2].every((at) => existsSync(keyFile(at, "minions", "web2"))));
    const probes = await Promise.all(
      members.map(({ requestPort }) => ProbeMinion.open("web2", minionKey, requestPort)),
    );
    assert.equal(new Set(probes.map(({ keys }) => keys.aes.text)).size, 1);
    for (const probe of probes) probe.close();
  });

  it("take a member back that was killed with its server left running, with what it missed", async () => {
    process.kill(member(0).processId, "SIGKILL");
    await member(0).ended();
    writeFileSync(keyFile(1, "minions_pre", "late1"), createKey().publicPem);
    await untilSo("the third has it", () => existsSync(keyFile(2, "minions_pre", "late1")));
    await member(0).restart();
    await untilJoined(0, 2);
    await untilSo("the first has it", () => existsSync(keyFile(0, "minions_pre", "late1")));
  });

  it("give a member back all that it lost with its key directory, and lose nothing themselves", async () => {
    const ids = ["db1", "db2", "db3", "db4"];
    for (const id of ids) writeFileSync(keyFile(1, "minions", id), createKey().publicPem);
    const has = (at: number) => ids.every((id) => existsSync(keyFile(at, "minions", id)));
    await untilSo("all have them", () => [0, 1, 2].every(has));
    await member(0).stop();
    rmSync(member(0).pkiDirectory, { recursive: true });
    const before = joins(0);
    await member(0).restart();
    await untilJoined(0, before + 1);
    await untilSo("the first has them again", () => has(0));
    assert.ok(has(1) && has(2));
    const keys = members.map(({ pkiDirectory }) => readFileSync(join(pkiDirectory, "master.pem"), "utf8"));
    assert.equal(new Set(keys).size, 1);
  });

  it("start alone if they have joined before, say so, and join when the others are back", async () => {
    await Promise.all([member(0).stop(), killMachine(member(1)), killMachine(member(2))]);
    // With a session of its minion there, the start rotates the AES key before it has joined.
    assert.equal((await key(0, "-d", "web2")).exitCode, 0);
    await member(0).restart();
    const isAnswering = ({ servers }: Status) => servers.some((one) => one.name === "member1" && one.isAnswering);
    const { exitCode } = await untilAnswer("its server answers", () => status(0), isAnswering);
    assert.equal(exitCode, 1);
    const before = joins(0);
    await Promise.all([member(1).restart(), member(2).restart()]);
    await untilJoined(0, before + 1);
    await untilSo("the cluster takes changes", async () => (await status(0)).exitCode === 0);
    await untilSo("web2 is gone", () => [0, 1, 2].every((at) => !existsSync(keyFile(at, "minions", "web2"))));
  });

  it("refuse a member with another secret, and one whose minions trust another key", async () => {
    const [first] = configs;
    const stranger = { ...first, id: "stranger", cluster_secret: newClusterSecret(), cluster_join_timeout: 5 };
    await member(0).stop();
    await assert.rejects(startOurMaster(20, stranger), /CLUSTER_UNAVAILABLE|does not answer/);
    const other = await startOurMaster(20, { worker_threads: 1 });
    try {
      writeFileSync(join(other.pkiDirectory, "minions", "theirs"), createKey().publicPem);
      await other.stop();
      const file = join(other.configDirectory, "master");
      const own = JSON.parse(readFileSync(file, "utf8")) as object;
      writeFileSync(file, JSON.stringify({ ...own, ...first, id: "member1" }));
      await assert.rejects(other.restart(), /minions trust its own key/);
    } finally {
      await other.remove();
    }
  });
});
