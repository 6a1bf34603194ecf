/** The programs of a cluster as an operator starts them: a witness, a master whose start is ended, one on a terminal, and one that is not root's. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { freePorts } from "../../../bench/free-ports.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { withoutNodeVariables } from "../../../src/cli/daemon/node-environment.ts";
import type { LikenessReport } from "../../../src/cluster/likeness/ask.ts";
import { natsServerProgram, natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { cliFile } from "../our-master.ts";
import { runCli } from "../run-cli.ts";
import { joinsOf, memberConfigs, startMembers, untilSo } from "./members.ts";

const limitMs = 60_000;
const nobodyId = 65_534;
const scriptSkip = spawnSync("script", ["--version"]).status === 0 ? false : "there is no script(1)";
const nobodySkip = process.getuid?.() === 0 ? false : "only root becomes another user";

type Place = { readonly directory: string; readonly child: ChildProcess };

describe("the programs of a cluster", { skip: await natsServerSkip(), timeout: 300_000 }, () => {
  const temporary = temporaryDirectories();
  const places: Place[] = [];
  let members: MasterProcess[] = [];
  afterEach(async () => {
    await Promise.all(members.map((member) => member.remove()));
    members = [];
    for (const { child } of places.splice(0)) {
      child.kill("SIGKILL");
      await ended(child);
    }
  });

  /** @param around words before the program, such as those of a terminal */
  async function start(word: string, config: object, around: (command: string[]) => string[] = (same) => same) {
    const directory = temporary();
    chmodSync(directory, 0o755);
    const [publish, request] = await freePorts(2);
    const folders = { pki_dir: `${directory}/pki`, cachedir: `${directory}/cache`, sock_dir: `${directory}/run` };
    const base = { interface: "127.0.0.1", publish_port: publish, ret_port: request, log_file: `${directory}/log` };
    mkdirSync(join(directory, "conf"));
    const all = { root_dir: directory, ...folders, ...base, log_level_logfile: "info", ...config };
    writeFileSync(join(directory, "conf", "master"), JSON.stringify(all));
    const [file = "", ...args] = around([process.execPath, cliFile, word, "-c", join(directory, "conf")]);
    const child = spawn(file, args, { stdio: ["pipe", "ignore", "ignore"], env: withoutNodeVariables(process.env) });
    places.push({ directory, child });
    return { directory, child };
  }

  const logOf = ({ directory }: Place) => readIfThere(join(directory, "log"));
  const serverOf = ({ directory }: Place) =>
    Number(readIfThere(join(directory, "cache", "cluster", "nats-server.pid")));

  /** A member whose peers do not exist, so that its start waits. */
  async function startWaiting(config: object = {}, around?: (command: string[]) => string[]) {
    const [own] = await memberConfigs(3, { cluster_join_timeout: 600, ...config });
    assert.ok(own !== undefined);
    const place = await start("master", own, around);
    await untilSo("it waits", () => logOf(place).includes("waits for the cluster") && serverOf(place) > 0, limitMs);
    const server = serverOf(place);
    assert.ok(isRunning(server));
    return { ...place, server };
  }

  it("a witness makes a majority with two masters, and ends by TERM with 0", async () => {
    const configs = await memberConfigs(3, {});
    const witness = await start("witness", configs[2] ?? {});
    members = await startMembers(configs.slice(0, 2));
    const [first, second] = members;
    assert.ok(first !== undefined && second !== undefined);
    await untilSo("both joined", () => members.every((member) => joinsOf(member) > 0), limitMs);
    assert.match(logOf(witness), /the witness is ready/);
    await second.stop();
    const status = () => runCli(["cluster", "status", "-c", first.configDirectory], limitMs);
    await untilSo("the two that are left take changes", async () => (await status()).exitCode === 0, limitMs);
    const ofWitness = await runCli(["cluster", "status", "-c", join(witness.directory, "conf")], limitMs);
    assert.match(ofWitness.stdout, /member3 {2}answers/);
    const check = await runCli(["cluster", "check", "--json", "-c", join(witness.directory, "conf")], limitMs);
    const { members: compared, unasked } = JSON.parse(check.stdout) as LikenessReport;
    assert.deepEqual(
      [compared, unasked].map((some) => some.length),
      [2, 1],
    );
    assert.deepEqual(compared.map(({ role }) => role).sort(), ["master", "witness"]);
    const server = serverOf(witness);
    witness.child.kill("SIGTERM");
    await ended(witness.child);
    assert.equal(witness.child.exitCode, 0);
    assert.ok(!isRunning(server));
  });

  it("a master that waits for the cluster ends by TERM with its server", async () => {
    const { child, server } = await startWaiting();
    child.kill("SIGTERM");
    await ended(child);
    assert.equal(child.exitCode, 1);
    assert.ok(!isRunning(server));
  });

  it("a member that is killed takes its server with it, or its next start ends it", async () => {
    const { child, server } = await startWaiting();
    child.kill("SIGKILL");
    await ended(child);
    if (spawnSync("setpriv", ["--pdeathsig", "TERM", "true"]).status === 0)
      await untilSo("its server ends", () => !isRunning(server), limitMs);
    else process.kill(server, "SIGTERM");
  });

  it("Ctrl-C on a terminal reaches the master, which ends its server", { skip: scriptSkip }, async () => {
    const around = (command: string[]) => ["script", "-qec", command.join(" "), "/dev/null"];
    const place = await startWaiting({}, around);
    // Field 7 of stat, behind the program's name: the terminal whose signals the process gets.
    const stat = readFileSync(`/proc/${place.server}/stat`, "utf8");
    assert.equal(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[4], "0");
    place.child.stdin?.write("\u0003");
    await untilSo("the server ends", () => !isRunning(place.server), limitMs);
    place.child.stdin?.end();
    await ended(place.child);
    assert.doesNotMatch(logOf(place), /nats-server has ended/);
  });

  it("the server runs as the user that the master becomes, in a directory of that user only", {
    skip: nobodySkip,
  }, async () => {
    const program = join(temporary(), "nats-server");
    copyFileSync((await natsServerProgram()) ?? "", program);
    chmodSync(join(program, ".."), 0o755);
    chmodSync(program, 0o755);
    const place = await startWaiting({ user: "nobody", cluster_nats_server: program });
    assert.match(readFileSync(`/proc/${place.server}/status`, "utf8"), new RegExp(`^Uid:\\s+${nobodyId}\\s`, "m"));
    const { uid, mode } = statSync(join(place.directory, "cache", "cluster"));
    assert.deepEqual([uid, mode & 0o777], [nobodyId, 0o700]);
    place.child.kill("SIGTERM");
    await ended(place.child);
    assert.ok(!isRunning(place.server));
  });
});

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** A process that has ended and was not waited for is not running. */
function isRunning(pid: number): boolean {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat !== "" && !/\) [ZX] /.test(stat);
}
