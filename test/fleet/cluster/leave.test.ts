/** Three members of a cluster, of which one is down while another one leaves by force, and leaves in order later. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { runCli } from "../run-cli.ts";
import { joinsOf, memberAt, memberConfigs, startMembers, untilAnswer, untilSo } from "./members.ts";

const cliTimeoutMs = 120_000;
const places = [0, 1, 2] as const;

describe("a member that leaves while another one is down", {
  skip: await natsServerSkip(),
  timeout: 600_000,
}, () => {
  let members: MasterProcess[] = [];
  const member = (at: number) => memberAt(members, at);
  const cluster = (at: number, words: readonly string[], input?: string) =>
    runCli(["cluster", ...words, "-c", member(at).configDirectory], cliTimeoutMs, input);
  type Status = { readonly serverCount: number; readonly hasQuorum: boolean };
  /** Undefined if the first member's own server was too slow. */
  const status = async () => {
    const { stdout } = await cluster(0, ["status", "--json"]);
    return stdout === "" ? undefined : (JSON.parse(stdout) as Status);
  };
  const isStatus = (serverCount: number, hasQuorum: boolean) => (now: Status | undefined) =>
    now?.serverCount === serverCount && now.hasQuorum === hasQuorum;
  const isMember = () => existsSync(join(member(2).cacheDirectory, "cluster"));

  before(async () => {
    members = await startMembers(await memberConfigs(3, {}));
    await Promise.all(places.map((at) => untilSo(`member ${at} joins`, () => joinsOf(member(at)) >= 1)));
    await Promise.all([member(1).stop(), member(2).stop()]);
  });
  after(async () => {
    await Promise.all(members.map((one) => one.remove()));
  });

  it("is refused without force, and stays a member", async () => {
    const { exitCode, stderr } = await cluster(2, ["leave", "-y"]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /CLUSTER_UNAVAILABLE: .*start member2 first.*--force/s);
    assert.ok(isMember());
  });

  it("stands alone by force, and the others go on counting it", async () => {
    const { exitCode, stdout, stderr } = await cluster(2, ["leave", "-y", "--force"]);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /still count member3 as a server that is down/);
    assert.ok(!isMember());
    await untilAnswer("one of three is not a majority", status, isStatus(3, false));
    await member(1).restart();
    await untilAnswer("two of three are one", status, isStatus(3, true));
  });

  it("is forgotten after it has joined again and left in order", async () => {
    const file = join(member(2).configDirectory, "master");
    const config = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>>;
    const { cluster_id: id, cluster_secret: secret, cluster_peers: peers, ...alone } = config;
    writeFileSync(file, JSON.stringify(alone));
    const words = ["join", "--id", String(id), "--peers", (peers as string[]).join(",")];
    const joined = await cluster(2, words, `${secret}\n`);
    assert.equal(joined.exitCode, 0, joined.stderr);
    assert.match(joined.stdout, /has the same secret/);
    const left = await cluster(2, ["leave", "-y"]);
    assert.equal(left.exitCode, 0, left.stderr);
    assert.match(left.stdout, /has forgotten member3. It has 2 servers left/);
    await untilAnswer("two of two are a majority", status, isStatus(2, true));
    await member(2).restart();
  });
});
