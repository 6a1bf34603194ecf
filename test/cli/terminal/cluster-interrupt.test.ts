/** Ctrl-C at each question and wait of `saltworks cluster init`, `join` and `leave`: nothing is half done. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { freePorts } from "../../../bench/free-ports.ts";
import { dispatch } from "../../../src/cli/dispatch.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { cliFile } from "../../fleet/our-master.ts";
import { natsServerProgram, natsServerSkip } from "../../services/nats-server.ts";
import { TestHost } from "../test-host.ts";
import { keys, noTerminal, onTerminal } from "./on-terminal.ts";

const secret = "a-secret-of-more-than-16-characters";
const peers = "127.0.0.2:1,127.0.0.3:1";
const noServer = await natsServerSkip();
const init = ["init", "--id", "prod", "--peers", peers];

describe("saltworks cluster after Ctrl-C", { timeout: 120_000 }, () => {
  const place = mkdtempSync(join(tmpdir(), "saltworks-interrupt-"));
  const servers: Server[] = [];
  let count = 0;
  after(() => rmSync(place, { recursive: true }));
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  function confDir(config: object = {}): string {
    count += 1;
    const directory = join(place, `${count}`);
    mkdirSync(directory);
    const base = { id: "m1", interface: "127.0.0.1", root_dir: directory, pki_dir: join(directory, "pki") };
    writeFileSync(
      join(directory, "master"),
      JSON.stringify({ ...base, cachedir: join(directory, "cache"), ...config }),
    );
    return directory;
  }
  const written = (directory: string) =>
    [join(directory, "master.d", "cluster.conf"), join(directory, "cluster.secret")].map((file) => existsSync(file));
  const onDispatch = async (directory: string, words: readonly string[], host = new TestHost()) =>
    await dispatch(["cluster", ...words, "-c", directory], host);
  const onChild = (directory: string, words: readonly string[], input = ""): ChildProcess => {
    const child = spawn(process.execPath, [cliFile, "cluster", ...words, "-c", directory], {
      stdio: ["pipe", "ignore", "pipe"],
    });
    child.stderr?.on("data", (part: Buffer) => process.stderr.write(part));
    child.stdin?.end(input);
    return child;
  };
  /** A server that takes connections and says nothing. */
  async function silent(): Promise<{ readonly address: string; readonly asked: Promise<void> }> {
    const server = createServer();
    servers.push(server);
    const asked = new Promise<void>((resolve) => {
      server.on("connection", (socket) => {
        socket.on("error", () => undefined);
        server.once("close", () => socket.destroy());
        resolve();
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return { address: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`, asked };
  }
  /** @returns the exit code; null if the signal has ended the command */
  async function interrupted(child: ChildProcess): Promise<number | null> {
    const end = once(child, "exit");
    child.kill("SIGINT");
    const [code, signal] = (await end) as [number | null, NodeJS.Signals | null];
    // A shell reports 130 for both.
    assert.ok(code === 130 || signal === "SIGINT", `${code} ${signal}`);
    return code;
  }

  it("at the question for the secret, join has written nothing", { skip: noTerminal }, async () => {
    const directory = confDir();
    const words = ["cluster", "join", "--id", "prod", "--peers", peers, "-c", directory];
    const result = await onTerminal(words, [["cluster_secret: ", keys.interrupt]]);
    assert.ok(result.isTyped && result.isOver && result.echo, result.shown);
    assert.ok(result.exitCode !== 0, `${result.exitCode}`);
    assert.deepEqual(written(directory), [false, false]);
  });

  it("while NATS does not answer, init has written nothing", async () => {
    const [directory, nats] = [confDir(), await silent()];
    const child = onChild(directory, ["init", "--id", "prod", "--nats-servers", nats.address]);
    await nats.asked;
    await interrupted(child);
    assert.deepEqual(written(directory), [false, false]);
  });

  it("while a peer or NATS does not answer, join has written nothing", async () => {
    for (const option of ["--peers", "--nats-servers"]) {
      const [directory, server] = [confDir(), await silent()];
      const others = option === "--peers" ? [server.address, "127.0.0.3:1"] : [server.address];
      const child = onChild(directory, ["join", "--id", "prod", option, others.join(",")], `${secret}\n`);
      await server.asked;
      await interrupted(child);
      assert.deepEqual(written(directory), [false, false], option);
    }
  });

  it("while the files are written, init and join remove them again", async () => {
    for (const words of [init, ["join", ...init.slice(1)]]) {
      const directory = confDir();
      const host = new TestHost(`${secret}\n`);
      const listen = host.onInterrupt.bind(host);
      host.onInterrupt = (listener) => {
        const forget = listen(listener);
        setImmediate(() => host.interrupt());
        return forget;
      };
      assert.equal(await onDispatch(directory, words, host), 130);
      assert.deepEqual(written(directory), [false, false]);
    }
  });

  it("at the question of leave, the master stays a member, and may leave afterwards", {
    skip: noTerminal,
  }, async () => {
    const directory = confDir();
    assert.equal(await onDispatch(directory, init), 0);
    const question: readonly [string, string] = ["Proceed? [N/y] ", keys.interrupt];
    const result = await onTerminal(["cluster", "leave", "-c", directory], [question]);
    assert.ok(result.isTyped && result.isOver && result.exitCode !== 0, result.shown);
    assert.deepEqual(written(directory), [true, true]);
    assert.equal(await onDispatch(directory, ["leave"], new TestHost("n\n")), 1);
  });

  it("while leave waits for the others, its server ends and the master stays a member", {
    skip: noServer,
  }, async () => {
    const [pool, ...others] = await freePorts(3);
    const directory = confDir({ cluster_nats_server: await natsServerProgram(), cluster_pool_port: pool });
    const rest = others.map((port) => `127.0.0.1:${port}`).join(",");
    assert.equal(await onDispatch(directory, ["init", "--id", "prod", "--peers", rest]), 0);
    const child = onChild(directory, ["leave", "-y"]);
    let complaints = "";
    child.stderr?.on("data", (part: Buffer) => {
      complaints += part.toString();
    });
    const pidFile = join(directory, "cache", "cluster", "nats-server.pid");
    await untilSo("its server runs", () => existsSync(pidFile));
    const pid = Number(readFileSync(pidFile, "utf8"));
    assert.equal(await interrupted(child), 130);
    await untilSo("its server has ended", () => !existsSync(`/proc/${pid}`));
    assert.match(complaints, /^Interrupted: the others may have forgotten m1; run the command again, or start the/m);
    assert.deepEqual(written(directory), [true, true]);
    assert.ok(existsSync(join(directory, "cache", "cluster")));
  });
});
