/**
 * The wall clock is set for a master and its minions (ours and one of Salt's): an hour and a day, forward and back. Jobs under way return, new
 * ones are answered, intervals continue, and waiting jobs and tokens live on. A preloaded library sets the clock (clock-offset.c).
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { descriptorsForMaster } from "../../bench/fleet/descriptors.ts";
import type { LocalClient } from "../../bench/local-client.ts";
import { MasterProcess } from "../../bench/master-process.ts";
import { generateKeyPair } from "../../src/crypto/pem.ts";
import { cliFile, readCounters } from "../fleet/our-master.ts";
import { runCli } from "../fleet/run-cli.ts";
import { Program } from "../interop/program.ts";
import { findRelease } from "../interop/salt-releases.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { SettableClock } from "./clock.ts";
import { compilerSkip } from "./preload.ts";

const waitMs = 120_000;
const pollMs = 100;
/** While the minions start. */
const askAgainMs = 1_000;
const hour = 3_600;
const day = 24 * hour;
const keyBits = 2_048;
const secret = "a password of the test";

describe("a site whose clock is set", { skip: compilerSkip(), timeout: 600_000 }, () => {
  const minions: Program[] = [];
  const ids = ["ours"];
  let root = "";
  let master: MasterProcess;
  let clock: SettableClock;
  let client: LocalClient;

  before(async () => {
    root = temporary();
    clock = new SettableClock(root);
    writeFileSync(join(root, "users"), `ann:${secret}\n`);
    master = await MasterProcess.start({
      command: [process.execPath, cliFile, "master"],
      config: {
        log_level: "warning",
        worker_threads: 1,
        auto_accept: true,
        loop_interval: 1,
        external_auth: { file: { "^filename": join(root, "users"), ann: [".*"] } },
      },
      descriptors: descriptorsForMaster(2),
      env: clock.env,
    });
    startMinion("ours", process.execPath, [cliFile, "minion"], {
      loop_interval: 1,
      schedule: {
        beat: { function: "cmd.run", args: [`echo >> ${join(root, "beats")}`], seconds: 1, return_job: false },
      },
    });
    const release = await findRelease("3007");
    if (release !== undefined) {
      ids.push("stock");
      startMinion("stock", release.program("salt-minion"), [], {});
    }
    // A minion that is accepted but never connects.
    writeFileSync(join(master.pkiDirectory, "minions", "away"), (await generateKeyPair(keyBits)).publicPem);
    client = master.client();
    const asked: string[] = [];
    await until("the minions answer", async () => {
      asked.push((await client.publish("*", "test.ping", [])).jid);
      await delay(askAgainMs);
      const answers = await Promise.all(asked.map(returned));
      return answers.some(({ length }) => length === ids.length);
    });
    await cli("salt", "--deliver-within", "30m", "--async", "-L", "away", "test.ping");
    await cli("salt", "-a", "file", "--username=ann", `--password=${secret}`, "-T", "ours", "test.ping");
  });
  after(async () => {
    client?.close();
    for (const minion of minions) await minion.stop();
    await master?.remove();
    clock?.close();
  });
  // Removed after the minions have ended: suites' last steps run in the order in which they stand.
  const temporary = temporaryDirectories();

  function startMinion(id: string, program: string, args: readonly string[], options: object): void {
    const folder = join(root, id);
    mkdirSync(join(folder, "etc"), { recursive: true });
    const config = {
      id,
      master: "127.0.0.1",
      publish_port: master.publishPort,
      master_port: master.requestPort,
      user: userInfo().username,
      root_dir: folder,
      pki_dir: join(folder, "pki"),
      cachedir: join(folder, "cache"),
      sock_dir: join(folder, "run"),
      log_file: join(folder, "log"),
      pidfile: join(folder, "pid"),
      acceptance_wait_time: 1,
      enable_fqdns_grains: false,
      ...options,
    };
    writeFileSync(join(folder, "etc", "minion"), JSON.stringify(config));
    minions.push(new Program(id, program, [...args, "-c", join(folder, "etc")], clock.env));
  }

  async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + waitMs;
    while (!(await condition())) {
      assert.ok(performance.now() < deadlineMs, what);
      await delay(pollMs);
    }
  }

  async function cli(command: string, ...words: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await runCli([command, "-c", master.configDirectory, ...words], waitMs);
    assert.equal(exitCode, 0, `${words.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Minions that have returned for a job. */
  async function returned(jid: string): Promise<string[]> {
    const found = await client.wheel("saltworks.returns", { jid, ids });
    return found instanceof Map ? [...found.keys()].map(String).sort() : [];
  }

  const beats = () => {
    const file = join(root, "beats");
    return existsSync(file) ? readFileSync(file, "utf8").length : 0;
  };
  const tokens = () => readdirSync(join(master.cacheDirectory, "tokens")).length;

  const counted = async (name: string) => (await readCounters(client)).main.get(name) ?? 0;

  /** After this time two rounds of maintenance are over. */
  async function untilMaintained(): Promise<void> {
    const seen = await counted("jobs.maintained");
    await until("maintenance", async () => (await counted("jobs.maintained")) >= seen + 2);
  }

  /** Offsets from the machine's clock in seconds, in turn: an hour forward, two back, a day and an hour forward, two days back, one forward. */
  for (const seconds of [hour, -hour, day, -day, 0]) {
    it(`loses and holds up nothing, set to ${seconds} s off`, async () => {
      const begun = await counted("batches.begun");
      const batch = cli("salt", "-b", "1", "--batch-wait", "1", "-L", ids.join(","), "test.ping", "--out=txt");
      const { jid: sleepJid } = await client.publish(ids, "test.sleep", ["2"], "list");
      await until("the batch runs", async () => (await counted("batches.begun")) > begun);
      clock.set(seconds);
      const beatsBefore = beats();
      await until("a job under way returns", async () => (await returned(sleepJid)).length === ids.length);
      const { jid } = await client.publish(ids, "test.ping", [], "list");
      await until("a new one returns", async () => (await returned(jid)).length === ids.length);
      for (const id of ids) assert.ok((await batch).includes(`${id}: True`));
      await until("the schedule goes on", () => beats() > beatsBefore + 1);
      await untilMaintained();
      assert.equal(await counted("deliveries.expired"), 0);
      assert.equal(tokens(), 1);
    });
  }

  it("has its job for the absent minion and its token still", async () => {
    assert.match(await cli("run", "jobs.pending", "--out=json"), /"away"/);
    // With this key root needs no token.
    const key = join(master.cacheDirectory, `.${userInfo().username}_key`);
    renameSync(key, `${key}.kept`);
    assert.match(await cli("salt", "-T", "ours", "test.ping"), /True/);
    renameSync(`${key}.kept`, key);
  });
});
