/** Three masters as one cluster: presence, grains and mines of minions that are connected to one of them only. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { runCli } from "../run-cli.ts";
import { createKey, joinsOf, memberConfigs, startMembers, untilAnswer, untilSo } from "./members.ts";

const skip = await natsServerSkip();
const cliTimeoutMs = 60_000;

describe("minions of a cluster", { skip, timeout: 600_000 }, () => {
  const keys = new Map(["web1", "web2"].map((id) => [id, createKey()]));
  let members: MasterProcess[] = [];
  const probes: ProbeMinion[] = [];
  const pillarRoot = mkdtempSync(join(tmpdir(), "saltworks-pillar-"));

  const member = (at: number): MasterProcess => members.at(at) ?? assert.fail(`member ${at} is missing`);
  const cli = (command: string, at: number, ...args: readonly string[]) =>
    runCli([command, "-c", member(at).configDirectory, ...args], cliTimeoutMs);
  const runner = async (at: number, ...args: readonly string[]): Promise<unknown> => {
    const { exitCode, stdout, stderr } = await cli("run", at, "--out=json", ...args);
    assert.equal(exitCode, 0, `${args}: ${stdout}${stderr}`);
    return JSON.parse(stdout);
  };
  const present = (at: number) => runner(at, "manage.present");
  const targeted = async (at: number, ...target: readonly string[]) =>
    (await cli("salt", at, ...target, "test.ping", "--preview-target")).stdout;
  const open = async (id: string, at: number): Promise<ProbeMinion> => {
    const key = keys.get(id);
    assert.ok(key !== undefined);
    const probe = await ProbeMinion.open(id, key, member(at).requestPort);
    probes.push(probe);
    return probe;
  };
  const isAlike = (value: unknown, wanted: unknown) => JSON.stringify(value) === JSON.stringify(wanted);

  before(async () => {
    writeFileSync(join(pillarRoot, "top.sls"), "base:\n  '*':\n    - role\n");
    writeFileSync(join(pillarRoot, "role.sls"), "role: {{ grains['os'] }}\n");
    members = await startMembers(await memberConfigs(3, { auto_accept: true, pillar_roots: { base: [pillarRoot] } }));
    await untilSo("all have joined", () => members.every((member) => joinsOf(member) > 0));
    await open("web1", 1);
    await untilSo("web1 is accepted everywhere", () =>
      members.every(({ pkiDirectory }) => existsSync(join(pkiDirectory, "minions", "web1"))),
    );
  });
  after(async () => {
    for (const probe of probes) probe.close();
    await Promise.all(members.map((one) => one.remove()));
    rmSync(pillarRoot, { recursive: true });
  });

  it("are present on each member, and once if they are connected to two", async () => {
    for (const at of [0, 1, 2]) await untilSo(`present on ${at}`, async () => isAlike(await present(at), ["web1"]));
    (await open("web1", 2)).close();
    for (const at of [0, 1, 2]) {
      const { minions } = JSON.parse((await cli("top", at, "--json")).stdout) as { minions: { connected: number } };
      assert.equal(minions.connected, 1, `on ${at}`);
      assert.deepEqual(await present(at), ["web1"]);
    }
  });

  it("go with a top that shows the three servers and which one leads", async () => {
    type Shown = { servers: { server: string; isAnswering: boolean; isLeading: boolean }[]; hasQuorum: boolean };
    const shown = async () => (JSON.parse((await cli("top", 1, "--json")).stdout) as { cluster: Shown }).cluster;
    const isWhole = ({ servers, hasQuorum }: Shown) => hasQuorum && servers.every(({ isAnswering }) => isAnswering);
    const { servers } = await untilAnswer("all servers answer", shown, isWhole);
    assert.deepEqual(
      servers.map(({ server }) => server),
      ["member1", "member2", "member3"],
    );
    assert.equal(servers.filter(({ isLeading }) => isLeading).length, 1);
    const text = async () => (await cli("top", 1)).stdout;
    const line = /^Cluster {3}test, this is member2 {2}has its majority$/m;
    await untilAnswer("it is told as a text", text, (shown) => line.test(shown));
  });

  it("match by the grains that another member got", async () => {
    const [web1] = probes;
    assert.ok(web1 !== undefined);
    await web1.pillar({ os: "Probe", id: "web1" }, member(1).requestPort);
    for (const at of [0, 2]) {
      await untilSo(`-G matches on ${at}`, async () => (await targeted(at, "-G", "os:Probe")).includes("web1"));
      assert.ok(isAlike(await runner(at, "cache.grains", "web1"), { web1: { os: "Probe", id: "web1" } }));
      assert.ok((await targeted(at, "-C", "G@os:Probe and web*")).includes("web1"));
      assert.ok((await targeted(at, "-I", "role:Probe")).includes("web1"));
    }
    await web1.pillar({ os: "Changed", id: "web1" }, member(1).requestPort);
    await untilSo("-G matches anew", async () => (await targeted(0, "-G", "os:Changed")).includes("web1"));
  });

  it("give their mines through each member, with who may read them", async () => {
    const [web1] = probes;
    assert.ok(web1 !== undefined);
    const guarded = { __saltmine_acl__: true, __data__: "for web2", allow_tgt: "web2", allow_tgt_type: "glob" };
    const data = { "network.ip": "10.0.0.1", guarded };
    assert.equal(await web1.ask(web1.seal({ cmd: "_mine", data, clear: false })), true);
    const web2 = await open("web2", 2);
    const read = (probe: ProbeMinion, fun: string) =>
      probe.ask(probe.seal({ cmd: "_mine_get", tgt: "web1", tgt_type: "glob", fun }));
    await untilSo("the mine is read through the third", async () => {
      const found = await read(web2, "network.ip");
      return found instanceof Map && found.get("web1") === "10.0.0.1";
    });
    assert.deepEqual(await read(web2, "guarded"), new Map([["web1", "for web2"]]));
    const other = await open("web1", 0);
    assert.deepEqual(await read(other, "guarded"), new Map());
    assert.equal(await web1.ask(web1.seal({ cmd: "_mine_delete", fun: "network.ip" })), true);
    await untilSo("the function is gone", async () => {
      const found = await read(web2, "network.ip");
      return found instanceof Map && found.size === 0;
    });
    assert.equal(await web1.ask(web1.seal({ cmd: "_mine_flush" })), true);
    await untilSo("the mine is gone", async () => {
      const found = await read(web2, "guarded");
      return found instanceof Map && found.size === 0;
    });
  });

  it("of a member that is killed are gone on the others", async () => {
    const key = createKey();
    keys.set("db1", key);
    await open("db1", 1);
    await untilSo("db1 is present", async () => ((await present(0)) as string[]).includes("db1"));
    process.kill(member(1).processId, "SIGKILL");
    await member(1).ended();
    await untilSo("db1 is gone", async () => !((await present(0)) as string[]).includes("db1"));
    await untilSo("db1 is gone on the third", async () => !((await present(2)) as string[]).includes("db1"));
  });

  it("are answered by a member without a majority, and their data comes to the others later", async () => {
    // The second one's master was killed, and may have left its server.
    await member(1).restart();
    await Promise.all([member(1).stop(), member(2).stop()]);
    const web1 = await open("web1", 0);
    for (const at of ["early", "late"])
      assert.equal(await web1.ask(web1.seal({ cmd: "_mine", data: { at }, clear: false })), true);
    await Promise.all([member(1).restart(), member(2).restart()]);
    const web2 = await open("web2", 2);
    await untilSo("the newest mine is at the third", async () => {
      const found = await web2.ask(web2.seal({ cmd: "_mine_get", tgt: "web1", tgt_type: "glob", fun: "at" }));
      return found instanceof Map && found.get("web1") === "late";
    });
  });
});
