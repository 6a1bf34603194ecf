/** Daemons in the foreground whose terminal closes: writes to it fail with EIO from then on, and SIGHUP comes more than once. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { promisify } from "node:util";
import { freePorts } from "../../../bench/free-ports.ts";
import { cliFile } from "../../fleet/our-master.ts";
import { repositoryRoot } from "../../root.ts";
import { noTerminal } from "./on-terminal.ts";

const deadlineSeconds = 120;

type Ended = { readonly exitCode: number | null; readonly hasCome: boolean; readonly shown: string };

describe("a daemon whose terminal closes", { skip: noTerminal, timeout: 4 * deadlineSeconds * 1_000 }, () => {
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "saltworks-hang-up-"));
    const [publish, requests, api] = await freePorts(3);
    const places = {
      root_dir: folder,
      pki_dir: `${folder}/pki`,
      cachedir: `${folder}/cache`,
      sock_dir: `${folder}/run`,
    };
    const log = { log_level: "info", log_file: `${folder}/log`, pidfile: `${folder}/pid`, worker_threads: 1 };
    const ports = { interface: "127.0.0.1", publish_port: publish, ret_port: requests };
    const http = { rest_cherrypy: { port: api, host: "127.0.0.1", disable_ssl: true }, api_logfile: `${folder}/log` };
    const config = { ...places, ...log, ...ports };
    // A master with an HTTP API would start a process for it.
    const command = { ...config, ...http, id: "m1", master: "127.0.0.1", master_port: requests };
    writeFileSync(join(folder, "master"), JSON.stringify(config));
    writeFileSync(join(folder, "minion"), JSON.stringify(command));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function hangUp(role: string, awaited: string): Promise<Ended> {
    const argv = [process.execPath, cliFile, role, "-c", folder];
    const plan = JSON.stringify({ argv, awaited, deadline: deadlineSeconds });
    const driver = join(repositoryRoot, "test/cli/terminal/hang_up.py");
    const { stdout } = await promisify(execFile)("python3", [driver, plan], { timeout: 2 * deadlineSeconds * 1_000 });
    const ended = JSON.parse(stdout) as Ended;
    assert.ok(ended.hasCome, ended.shown);
    return ended;
  }
  const logged = () => readFileSync(join(folder, "log"), "utf8");

  it("a master stops in order, and the next one starts", async () => {
    for (let start = 1; start <= 2; start += 1) {
      const { exitCode } = await hangUp("master", "master is ready");
      assert.equal(exitCode, 0, logged());
      assert.equal(existsSync(join(folder, "pid")), false);
      assert.equal(logged().match(/"shutting down"/g)?.length, start);
    }
    assert.doesNotMatch(logged(), /"level":[56]0/);
  });

  it("a minion and the HTTP API stop in order", async () => {
    assert.equal((await hangUp("minion", join(folder, "pid"))).exitCode, 0, logged());
    writeFileSync(join(folder, "master"), readFileSync(join(folder, "minion")));
    assert.equal((await hangUp("api", "HTTP API is ready")).exitCode, 0, logged());
    assert.match(logged(), /"stopping"[\s\S]*"shutting down"/);
  });

  it("a master that is starting ends at once, as SIGHUP ends a program", async () => {
    assert.equal((await hangUp("master", "started with a new AES key")).exitCode, 129, logged());
  });
});
