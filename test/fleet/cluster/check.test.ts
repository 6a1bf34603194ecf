/** Three members of a cluster: what `saltworks cluster check` finds, and one that leaves. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../../bench/master-process.ts";
import type { LikenessReport } from "../../../src/cluster/likeness/ask.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { runCli } from "../run-cli.ts";
import { memberConfigs, startMembers, untilAnswer, untilSo } from "./members.ts";

const skip = await natsServerSkip();
const cliTimeoutMs = 90_000;

describe("the commands for members of a cluster", { skip, timeout: 600_000 }, () => {
  const place = mkdtempSync(join(tmpdir(), "saltworks-check-"));
  let members: MasterProcess[] = [];

  const member = (at: number): MasterProcess => members[at] ?? assert.fail(`there is no member ${at}`);
  const log = (at: number) => `${readFileSync(join(member(at).directory, "output"))}`;
  const cluster = (at: number, ...args: readonly string[]) =>
    runCli(["cluster", ...args, "-c", member(at).configDirectory], cliTimeoutMs);
  const check = async (at: number) => {
    const { exitCode, stdout, stderr } = await cluster(at, "check", "--json");
    assert.notEqual(stdout, "", stderr);
    return { exitCode, ...(JSON.parse(stdout) as LikenessReport) };
  };
  /** The members listen on one address, so their ports differ. */
  const filesOf = ({ differences }: LikenessReport) => differences.filter(({ subject }) => subject !== "option");
  const write = (at: number, tree: "files" | "pillar", path: string, text: string) => {
    const file = join(place, `${at}`, tree, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };

  before(async () => {
    const configs = await memberConfigs(3, {});
    members = await startMembers(
      configs.map((config, at) => ({
        ...config,
        file_roots: { base: [join(place, `${at}`, "files")] },
        pillar_roots: { base: [join(place, `${at}`, "pillar")] },
      })),
    );
    await Promise.all(
      members.map((_, at) => untilSo(`member ${at} joined`, () => log(at).includes("joined the cluster"))),
    );
  });
  after(async () => {
    await Promise.all(members.map((one) => one.remove()));
    rmSync(place, { recursive: true });
  });

  it("finds files that differ, and none once they are alike", async () => {
    for (const at of [0, 1, 2]) {
      write(at, "files", "top.sls", "base: {}\n");
      write(at, "files", "web/init.sls", "web: test.nop\n");
      write(at, "pillar", "top.sls", "base: {}\n");
    }
    const before = await check(0);
    assert.deepEqual(filesOf(before), []);
    assert.deepEqual(before.unasked, []);
    assert.deepEqual(
      before.members.map(({ name, role }) => [name, role]),
      [1, 2, 3].map((number) => [`member${number}`, "master"]),
    );
    const options = before.differences.map(({ name, kind }) => [name, kind]);
    assert.ok(options.every(([name, kind]) => /^(?:publish|ret)_port$/.test(`${name}`) && kind === "differs"));
    write(1, "files", "web/init.sls", "web: test.succeed_with_changes\n");
    write(1, "files", "web/own.sls", "own: test.nop\n");
    write(2, "pillar", "secret.sls", "a: 1\n");
    const found = await check(2);
    assert.equal(found.exitCode, 1);
    const places = filesOf(found).map(({ member, subject, environment, name, kind }) =>
      [member, subject, environment, name, kind].join(" "),
    );
    assert.deepEqual(places, [
      "member2 file_roots base web/init.sls differs",
      "member2 file_roots base web/own.sls only here",
      "member3 pillar_roots base secret.sls only here",
    ]);
    const { stdout } = await cluster(0, "check");
    assert.match(stdout, /^ {2}member2: file_roots base web\/own\.sls: only here$/m);
  });

  it("answers as a runner, too", async () => {
    const run = async (name: string) => {
      const { stdout } = await runCli(["run", "-c", member(0).configDirectory, name, "--out", "json"], cliTimeoutMs);
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    assert.equal((await run("cluster.status")).hasQuorum, true);
    assert.equal(((await run("cluster.check")) as unknown as LikenessReport).members.length, 3);
  });

  it("names a member that does not answer", async () => {
    await member(1).stop();
    const { unasked } = await check(0);
    assert.deepEqual(
      unasked.map(({ member: name }) => name),
      ["member2"],
    );
    await member(1).restart();
    await untilSo("it is back", async () => (await check(0)).unasked.length === 0);
  });

  it("refuses to leave while the master runs", async () => {
    const { exitCode, stderr } = await cluster(2, "leave", "-y");
    assert.equal(exitCode, 1);
    assert.match(stderr, /MASTER_RUNNING/);
  });

  it("refuses to leave while too few servers answer", async () => {
    await Promise.all(members.map((one) => one.stop()));
    const { exitCode, stderr } = await cluster(2, "leave", "-y");
    assert.equal(exitCode, 1);
    assert.match(stderr, /CLUSTER_UNAVAILABLE: .*--force/);
    assert.ok(existsSync(join(member(2).cacheDirectory, "cluster")));
    assert.ok(existsSync(join(member(2).pkiDirectory, ".secrets.sealed")));
    await Promise.all([member(0).restart(), member(1).restart()]);
  });

  it("leaves: the others forget the server, and the master has nothing of the cluster but its key pair", async () => {
    const { exitCode, stdout, stderr } = await cluster(2, "leave", "-y");
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /2 servers left/);
    assert.match(stdout, /conf\/master:\d+: cluster_id/);
    assert.ok(!existsSync(join(member(2).cacheDirectory, "cluster")));
    assert.ok(readdirSync(member(2).cacheDirectory).some((name) => name.startsWith("cluster-left-")));
    assert.ok(!existsSync(join(member(2).pkiDirectory, ".secrets.sealed")));
    const status = async () => (await cluster(0, "status")).stdout;
    const isSo = (text: string) => /: 2 of 2 servers answer\n.*The cluster takes changes\.\n$/s.test(text);
    await untilAnswer("two of two are a majority", status, isSo);
    const file = join(member(2).configDirectory, "master");
    const config = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    const { cluster_id: _, cluster_secret: __, cluster_peers: ___, ...alone } = config;
    writeFileSync(file, JSON.stringify(alone));
    await member(2).restart();
    assert.match(log(2), /started with a new AES key/);
  });

  it("leaves by force without the others, and removes the file that join wrote", async () => {
    const file = join(member(1).configDirectory, "master");
    await Promise.all([member(0).stop(), member(1).stop()]);
    const config = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    const { cluster_id: id, cluster_secret: secret, cluster_peers: peers, ...alone } = config;
    writeFileSync(file, JSON.stringify(alone));
    const joined = await runCli(
      [
        ...["cluster", "join", "-c", member(1).configDirectory],
        ...["--id", `${id}`, "--peers", (peers as string[]).join(",")],
      ],
      cliTimeoutMs,
      `${secret}\n`,
    );
    assert.equal(joined.exitCode, 0, joined.stderr);
    assert.match(joined.stdout, /the secret is not checked/);
    const written = join(member(1).configDirectory, "master.d", "cluster.conf");
    const secretFile = join(member(1).configDirectory, "cluster.secret");
    assert.equal(statSync(secretFile).mode & 0o777, 0o600);
    const { exitCode, stdout, stderr } = await cluster(1, "leave", "-y", "--force");
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /still count member2/);
    assert.ok(!existsSync(written) && !existsSync(secretFile));
    await member(1).restart();
  });
});
