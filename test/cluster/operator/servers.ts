/** An operator's own NATS: three nats-servers with TLS, users and JetStream in one cluster, as members of a cluster of masters find them. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePorts } from "../../../bench/free-ports.ts";
import { within } from "../../../src/deadline.ts";
import { type Certificates, makeCertificates } from "../../services/certificates.ts";
import { natsServerProgram } from "../../services/nats-server.ts";

const startTimeoutMs = 30_000;
const messageBytes = 8 * 1024 * 1024;

export type OperatorServersOptions = {
  /** What says who may connect, in the language of nats-server. */
  readonly more: object;
  readonly count?: number;
};

export class OperatorServers {
  readonly certificates: Certificates;
  readonly #directory = mkdtempSync(join(tmpdir(), "saltworks-operator-nats-"));
  readonly #options: OperatorServersOptions;
  readonly #ports: readonly number[];
  readonly #routes: readonly number[];
  readonly #processes: (ChildProcess | undefined)[] = [];

  private constructor(options: OperatorServersOptions, ports: readonly number[]) {
    this.#options = options;
    const { count = 3 } = options;
    [this.#ports, this.#routes] = [ports.slice(0, count), ports.slice(count)];
    this.certificates = makeCertificates(process.getuid?.() ?? 0);
  }

  /** Resolves when all take clients. */
  static async start(options: OperatorServersOptions): Promise<OperatorServers> {
    const servers = new OperatorServers(options, await freePorts(2 * (options.count ?? 3)));
    await Promise.all(servers.#ports.map((_, at) => servers.run(at)));
    return servers;
  }

  /** Each as `tls://HOST:PORT`. */
  get addresses(): string[] {
    return this.#ports.map((port) => `tls://127.0.0.1:${port}`);
  }

  /** A file of the operator's, such as a password's. @returns its path */
  file(name: string, contents: string): string {
    const path = join(this.#directory, name);
    writeFileSync(path, contents, { mode: 0o600 });
    return path;
  }

  /** The directory of a server's records. */
  store(at: number): string {
    return join(this.#directory, `store${at}`);
  }

  async run(at: number): Promise<void> {
    const program = await natsServerProgram();
    assert.ok(program !== undefined, "nats-server is not built: npm run nats-server");
    const path = this.file(`server${at}.conf`, JSON.stringify(this.#configuration(at)));
    const child = spawn(program, ["-c", path], { stdio: ["ignore", "ignore", "pipe"] });
    this.#processes[at] = child;
    const ready = new Promise<void>((resolve, reject) => {
      child.once("exit", () => reject(new Error("nats-server ended")));
      createInterface({ input: child.stderr }).on("line", (line) => {
        if (line.includes("Server is ready")) resolve();
      });
    });
    await within(ready, startTimeoutMs, () => assert.fail("nats-server did not start in time"));
  }

  async kill(at: number): Promise<void> {
    const child = this.#processes[at];
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async close(): Promise<void> {
    await Promise.all(this.#ports.map((_, at) => this.kill(at)));
    rmSync(this.#directory, { recursive: true, force: true });
    this.certificates.remove();
  }

  #configuration(at: number): object {
    const store = this.store(at);
    mkdirSync(store, { recursive: true });
    const { cert, key } = this.certificates.server;
    const routes = this.#routes.map((port) => `nats-route://127.0.0.1:${port}`);
    return {
      ...{ server_name: `n${at + 1}`, host: "127.0.0.1", port: this.#ports[at], max_payload: messageBytes },
      tls: { cert_file: cert, key_file: key },
      ...this.#options.more,
      // A server with the claims of an operator needs a system account for JetStream.
      ...(routes.length > 1 && {
        jetstream: { store_dir: store, sync_interval: "always" },
        cluster: { name: "operators", host: "127.0.0.1", port: this.#routes[at], routes },
      }),
    };
  }
}
