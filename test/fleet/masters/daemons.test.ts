import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { freePorts, isFree } from "../../../bench/free-ports.ts";
import { Datagrams } from "../../cli/log/datagrams.ts";
import { needsRoot, type OrdinaryUser, ordinaryUser } from "../ordinary-user.ts";
import { cliFile } from "../our-master.ts";

const timeout = 240_000;
const lookMs = 50;
/** TCP_LISTEN in /proc/net/tcp. */
const listenState = "0A";

/** Ends with the test's deadline. */
async function until<Found>(look: () => Found | undefined | false): Promise<Found> {
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

/** Ports that only root may open on an ordinary machine. */
async function freeLowPorts(count: number): Promise<number[]> {
  const found: number[] = [];
  for (let port = 1023; found.length < count; port -= 1) {
    if (await isFree(port)) found.push(port);
    assert.ok(port > 512, "no low port is free");
  }
  return found;
}

/** Asserts that every thread runs as the user, without root's groups and capabilities. */
function assertIsOnly(pid: number, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  const threads = readdirSync(`/proc/${pid}/task`).map((id) => textOf(`/proc/${pid}/task/${id}/status`));
  assert.ok(threads.length > 4);
  for (const status of threads) {
    assert.match(status, new RegExp(`^Uid:(\\t${uid}){4}$`, "m"));
    assert.match(status, new RegExp(`^Gid:(\\t${gid}){4}$`, "m"));
    assert.match(status, new RegExp(`^Groups:\\t${gid} $`, "m"));
    for (const set of ["Inh", "Prm", "Eff", "Amb"]) assert.match(status, new RegExp(`^Cap${set}:\\t0+$`, "m"));
  }
}

/** The text of a file that may not exist yet. */
function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function isRunning(pid: number): boolean {
  const stat = textOf(`/proc/${pid}/stat`);
  return stat !== "" && !/\) [ZX] /.test(stat);
}

/** Ports at which a process listens, as the kernel lists them. */
function listeningPorts(pid: number): number[] {
  const lines = spawnSync("ss", ["-ltnpH"], { encoding: "utf8" }).stdout.split("\n");
  return lines
    .filter((line) => line.includes(`pid=${pid},`))
    .map((line) => Number(/:(\d+)\s/.exec(line)?.[1]))
    .sort((a, b) => a - b);
}

/** The users that opened the sockets that listen at these ports, as the kernel lists them. */
function openersOf(ports: readonly number[]): number[] {
  const rows = textOf("/proc/net/tcp").trim().split("\n").slice(1);
  const columns = rows.map((row) => row.trim().split(/\s+/)).filter(([, , , state]) => state === listenState);
  return ports.map((port) => {
    const found = columns.find(([, local = ""]) => Number.parseInt(local.split(":")[1] ?? "", 16) === port);
    assert.ok(found !== undefined, `no socket listens at ${port}`);
    return Number(found[7]);
  });
}

describe("daemons", { skip: needsRoot }, () => {
  let user: OrdinaryUser;
  let folder: string;
  let ports: number[];
  const started: number[] = [];
  before(() => {
    user = ordinaryUser();
  });
  after(() => user.remove());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "sw-"));
    spawnSync("chmod", ["755", folder]);
    ports = await freePorts(2);
    mkdirSync(join(folder, "conf"));
    const places = (role: string) => ({
      pki_dir: join(folder, role, "pki"),
      cachedir: join(folder, role, "cache"),
      sock_dir: join(folder, role, "run"),
      log_file: join(folder, role, "log", "file"),
      pidfile: join(folder, role, "pid", "file"),
      log_level: "warning",
      log_level_logfile: "info",
    });
    const master = {
      ...places("master"),
      interface: "127.0.0.1",
      publish_port: ports[0],
      ret_port: ports[1],
      worker_threads: 1,
      auto_accept: true,
    };
    const minion = {
      ...places("minion"),
      id: "m1",
      master: "127.0.0.1",
      master_port: ports[1],
      acceptance_wait_time: 1,
    };
    // JSON of one line is YAML, to which further files can add lines.
    for (const [role, config] of Object.entries({ master, minion })) {
      mkdirSync(join(folder, "conf", `${role}.d`));
      writeFileSync(join(folder, "conf", role), JSON.stringify(config));
    }
  });
  afterEach(async () => {
    for (const pid of started.splice(0)) {
      if (isRunning(pid)) process.kill(pid, "SIGKILL");
      await until(() => !isRunning(pid));
    }
    rmSync(folder, { recursive: true });
  });
  const set = (role: string, line: string): void =>
    appendFileSync(join(folder, "conf", `${role}.d`, "a.conf"), `${line}\n`);
  const asUser = () => ({ uid: user.uid, gid: user.gid, cwd: user.home });
  const run = (
    argv: readonly string[],
    more: { env?: NodeJS.ProcessEnv; uid?: number; gid?: number; cwd?: string } = {},
  ) =>
    spawnSync(user.program, [argv[0] ?? "", "-c", join(folder, "conf"), ...argv.slice(1)], {
      encoding: "utf8",
      env: user.env,
      timeout,
      ...more,
    });
  /** The process id, once the daemon is up. */
  const startBehind = (role: "master" | "minion", more: Parameters<typeof run>[1] = {}): number => {
    const { status, stderr, stdout } = run([role, "-d"], more);
    assert.equal(status, 0, stderr + textOf(join(folder, role, "log", "file")));
    assert.equal(stdout, "");
    const pid = Number(textOf(join(folder, role, "pid", "file")));
    started.push(pid);
    return pid;
  };

  it("become their user for good, own their files, write no debugger's port and go on writing a log that was moved", {
    timeout,
  }, async () => {
    for (const role of ["master", "minion"]) set(role, `user: ${user.name}`);
    // Files of an earlier start as root.
    mkdirSync(join(folder, "master", "pki", "minions"), { recursive: true });
    writeFileSync(join(folder, "master", "pki", "minions", "old"), "root's");
    const pids = [startBehind("master"), startBehind("minion")] as const;
    for (const pid of pids) {
      assertIsOnly(pid, user);
      assert.equal(textOf(`/proc/${pid}/stat`).split(") ")[1]?.split(" ")[4], "0", "it has no terminal");
    }
    for (const name of ["pki", "pki/minions/old", "pki/master.pem", "cache/.nobody_key", "log/file", "pid/file"])
      assert.equal(statSync(join(folder, "master", name)).uid, user.uid, name);
    assert.equal(statSync(join(folder, "master", "pki")).mode & 0o777, 0o700);
    await until(() => run(["salt", "m1", "test.ping"]).stdout === "m1:\n    True\n");
    for (const [index, role] of ["master", "minion"].entries()) {
      const pid = pids[index] ?? 0;
      process.kill(pid, "SIGUSR1");
      const dump = await until(() =>
        readdirSync(user.home).find((name) => textOf(join(user.home, name)).includes(`saltworks ${role} ====`)),
      );
      const file = join(user.home, dump);
      assert.match(dump, /^salt-debug-\d+(?:-\d+-\d+)?\.log$/);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      const text = await until(() => /=====\n$/.test(textOf(file)) && textOf(file));
      if (role === "master")
        assert.match(text, /sw-worker-0 \[worker \d+\]\n[\s\S]*saltworks_frames_received_total \d/);
      assert.deepEqual(listeningPorts(pid), role === "master" ? [...ports].sort((a, b) => a - b) : []);
      assert.match(textOf(join(folder, role, "log", "file")), /SIGUSR1: stacks and state/);
    }
    chownSync(join(folder, "master", "log"), user.uid, user.gid);
    const log = join(folder, "master", "log", "file");
    renameSync(log, `${log}.1`);
    process.kill(pids[0], "SIGHUP");
    await until(() => textOf(log).includes("reopened"));
    for (const pid of pids) process.kill(pid, "SIGTERM");
    for (const pid of pids) await until(() => !isRunning(pid));
    assert.ok(!textOf(log).includes('"level":50'), textOf(log));
  });

  it("start the HTTP API with the directory that -c names, and leave its fault in its log", { timeout }, async () => {
    const [api = 0] = await freePorts(1);
    const log = join(folder, "api", "log");
    const rest = `rest_cherrypy: {port: ${api}, host: 127.0.0.1, disable_ssl: True}`;
    set("master", `${rest}\napi_logfile: ${log}\napi_pidfile: ${join(folder, "api", "pid")}`);
    const holder = createServer().listen(api, "127.0.0.1");
    await once(holder, "listening");
    // Relative to the working directory, which the daemon leaves.
    const { status, stderr } = spawnSync(user.program, ["master", "-d", "-c", "conf"], {
      cwd: folder,
      encoding: "utf8",
      env: user.env,
      timeout,
    });
    assert.equal(status, 0, stderr);
    const pid = Number(textOf(join(folder, "master", "pid", "file")));
    started.push(pid);
    await until(() => textOf(log).includes(`127.0.0.1:${api} is in use by another process (EADDRINUSE)`));
    holder.close();
    await until(() => textOf(log).includes("the HTTP API is ready"));
    assert.equal((await fetch(`http://127.0.0.1:${api}/`)).status, 200);
    process.kill(pid, "SIGTERM");
    await until(() => !isRunning(pid));
  });

  it("open ports below 1024 before they give root up, and say which of them is taken", { timeout }, async () => {
    const [publish = 0, requests = 0, metrics = 0] = await freeLowPorts(3);
    set("master", `user: ${user.name}\npublish_port: ${publish}\nret_port: ${requests}\nmetrics_port: ${metrics}`);
    set("minion", `master_port: ${requests}`);
    const holder = createServer().listen(requests, "127.0.0.1");
    await once(holder, "listening");
    const { status, stderr } = run(["master", "-d"]);
    holder.close();
    assert.equal(status, 1);
    assert.equal(
      stderr,
      `saltworks master: ret_port: 127.0.0.1:${requests} is in use by another process (EADDRINUSE)\n`,
    );
    const pid = startBehind("master");
    startBehind("minion");
    await until(() => run(["salt", "m1", "test.ping"]).stdout === "m1:\n    True\n");
    assert.match(await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text(), /^saltworks_/m);
    assertIsOnly(pid, user);
    assert.deepEqual(listeningPorts(pid), [metrics, requests, publish]);
    // A container may let every user open every port. A socket belongs to the user that opened it, even if the process changed its user.
    assert.deepEqual(openersOf([metrics, requests, publish]), [0, 0, 0]);
    process.kill(pid, "SIGTERM");
    await until(() => !isRunning(pid));
  });

  it("end with Salt's exit codes where the user is not there or may not be had", { timeout }, () => {
    const wanted: [string, number, RegExp][] = [
      ["no-such-user", 67, /for user no-such-user\. The user is not available/],
      ["daemon", 1, /run as user "daemon" but unable to switch/],
    ];
    for (const [name, code, sentence] of wanted) {
      for (const role of ["master", "minion"]) {
        const { status, stderr } = run([role, "-u", name, ...(role === "master" ? ["-d"] : [])], asUser());
        assert.equal(status, code, stderr);
        assert.match(stderr, sentence);
      }
    }
  });

  it("say why they could not start in the background", { timeout }, async () => {
    const holder = createServer().listen(ports[1], "127.0.0.1");
    await once(holder, "listening");
    const { status, stderr } = run(["master", "-d"]);
    holder.close();
    assert.equal(status, 1, stderr);
    assert.match(stderr, new RegExp(`^saltworks master: .*${ports[1]}`));
    assert.equal(existsSync(join(folder, "master", "pid", "file")), false);
  });

  it("tell systemd what becomes of them, and open no debugger however early the signal comes", {
    timeout,
  }, async () => {
    const name = `@saltworks-fleet-${process.pid}`;
    const datagrams = await Datagrams.bind(name);
    const env = {
      ...user.env,
      NOTIFY_SOCKET: name,
      WATCHDOG_USEC: "2000000",
      NODE_OPTIONS: "--inspect=127.0.0.1:0 --require=/there/is/no/such/file",
    };
    const master = spawn(user.program, ["master", "-c", join(folder, "conf")], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const pid = master.pid ?? 0;
    started.push(pid);
    let said = "";
    master.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    // Once Node.js listens for it; our listener comes later.
    await until(
      () =>
        (Number.parseInt(/^SigCgt:\s+(\S+)/m.exec(textOf(`/proc/${pid}/status`))?.[1]?.slice(-4) ?? "0", 16) & 0x200) >
        0,
    );
    process.kill(pid, "SIGUSR1");
    assert.match(await datagrams.until(/READY/), new RegExp(`^READY=1\nMAINPID=${pid}\n`));
    await datagrams.until(/^WATCHDOG=1$/);
    process.kill(pid, "SIGUSR1");
    await until(() => textOf(join(folder, "master", "log", "file")).includes("stacks and state"));
    assert.equal(listeningPorts(pid).length, 2);
    assert.doesNotMatch(said, /listening/);
    master.kill("SIGTERM");
    await datagrams.until(/^STOPPING=1/);
    await until(() => !isRunning(pid));
    assert.equal(existsSync(join(folder, "master", "pid", "file")), false);
    datagrams.close();
  });

  it("refuse options of Node.js in the environment, in whichever spelling", () => {
    for (const options of ["--inspect=127.0.0.1:0", "--experimental_loader=data:text/javascript,"]) {
      const env = { ...user.env, NODE_OPTIONS: options };
      const arguments_ = [cliFile, "master", "-c", join(folder, "conf")];
      const { status, stderr } = spawnSync(process.execPath, arguments_, { encoding: "utf8", env });
      assert.equal(status, 1, stderr);
      assert.ok(stderr.includes(`NODE_OPTIONS is "${options}", which a daemon does not accept`), stderr);
    }
  });

  it("serve an ordinary user without any of root's doing", { timeout }, async () => {
    for (const role of ["master", "minion"]) mkdirSync(join(folder, role));
    spawnSync("chown", ["-R", `${user.uid}:${user.gid}`, folder]);
    startBehind("master", asUser());
    assert.ok(existsSync(join(folder, "master", "cache", ".nobody_key")));
    assert.deepEqual(openersOf(ports), [user.uid, user.uid]);
    startBehind("minion", asUser());
    await until(() => run(["salt", "m1", "test.ping"], asUser()).stdout === "m1:\n    True\n");
    assert.match(run(["key", "-L"], asUser()).stdout, /^Accepted Keys:\nm1$/m);
    const up = run(["run", "manage.up"], asUser());
    assert.equal(up.stdout, "- m1\n", up.stderr);
    assert.equal(run(["call", "test.ping"], asUser()).stdout, "local:\n    True\n");
    assert.match(run(["cp", "m1", join(folder, "conf", "minion"), join(folder, "copied")], asUser()).stdout, /m1/);
  });

  it("show an ordinary user a demo, which ends with 1 if its jobs fail", { timeout }, async () => {
    const argv = ["demo", "--exit", "--minions", "1"];
    const env = user.env;
    const good = spawnSync(user.program, argv, { encoding: "utf8", env, timeout, ...asUser() });
    assert.equal(good.status, 0, good.stdout + good.stderr);
    assert.match(good.stdout, /^web1\.example\.com:\n {4}True$/m);
    const bad = spawn(user.program, argv, { env, ...asUser(), stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    for (const stream of [bad.stdout, bad.stderr])
      stream.on("data", (chunk: Buffer) => {
        out += chunk.toString();
      });
    const site = await until(() => /in (\S+saltworks-demo-\S+)/.exec(out)?.[1]);
    const key = join(site, "master", "cache", ".nobody_key");
    await until(() => existsSync(key) && out.includes("-A -y"));
    writeFileSync(key, "another key");
    const [code] = (await once(bad, "exit")) as [number];
    assert.equal(code, 1, out);
    assert.match(out, /test\.ping had no answer from web1\.example\.com/);
  });
});
