/** One nats-server with JetStream on loopback, in a private directory. It can be killed, and started again with its store and port. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { within } from "../../src/deadline.ts";
import { natsServerProgram } from "../services/nats-server.ts";

const startTimeoutMs = 30_000;

export type NatsClients = Awaited<ReturnType<NatsServer["connect"]>>;

export class NatsServer {
  readonly #directory = mkdtempSync(join(tmpdir(), "saltworks-nats-"));
  readonly #connections: NatsConnection[] = [];
  #process: ChildProcess | undefined;
  #port = -1;

  /** Starts the server, or starts it again. `isSynced`: each entry is on disk before it is confirmed, as in a cluster. */
  async start(isSynced = false): Promise<void> {
    const config = join(this.#directory, "server.conf");
    const sync = isSynced ? "sync_interval: always" : "";
    writeFileSync(
      config,
      `host: 127.0.0.1\nport: ${this.#port}\njetstream { store_dir: "${this.#directory}/store"\n${sync} }`,
    );
    const program = await natsServerProgram();
    assert.ok(program !== undefined, "nats-server is not built: npm run nats-server");
    const child = spawn(program, ["-c", config], { stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    const ready = new Promise<void>((resolve, reject) => {
      child.once("exit", () => reject(new Error("nats-server ended")));
      createInterface({ input: child.stderr }).on("line", (line) => {
        const port = /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(line)?.[1];
        if (port !== undefined) this.#port = Number(port);
        if (line.includes("Server is ready")) resolve();
      });
    });
    await within(ready, startTimeoutMs, () => assert.fail("nats-server did not start in time"));
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  /** A connection that comes back whenever the server does. */
  async connect() {
    const nats = await connect({
      servers: `127.0.0.1:${this.#port}`,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
    });
    this.#connections.push(nats);
    return { nats, jetstream: jetstream(nats), manager: await jetstreamManager(nats), kvm: new Kvm(nats) };
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((nats) => nats.close()));
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
