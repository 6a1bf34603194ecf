/** A server of an operator's own NATS under faults, on a host and a disk of its own. It starts again only when the run starts it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mountSmallDisk, type SmallDisk } from "../../fault/small-disk.ts";
import { natsServerProgram } from "../../services/nats-server.ts";
import type { FaultNetwork } from "./network.ts";

const clientPort = 4_222;
const routePort = 6_222;
const messageBytes = 8 * 1024 * 1024;

export class OperatorServer {
  readonly disk: SmallDisk;
  readonly #command: readonly [string, ...string[]];
  readonly #logFile: string;
  #child: ChildProcess | undefined;

  private constructor(disk: SmallDisk, command: readonly [string, ...string[]], logFile: string) {
    this.disk = disk;
    this.#command = command;
    this.#logFile = logFile;
  }

  /** Starts one on each of these hosts of the network. */
  static async startAll(
    network: FaultNetwork,
    hosts: readonly number[],
    diskMegabytes: number,
    directory: string,
  ): Promise<OperatorServer[]> {
    const program = await natsServerProgram();
    if (program === undefined) throw new Error("nats-server is not built: npm run nats-server");
    const addressOf = (host: number) => network.addresses[host] ?? "";
    return hosts.map((host, at) => {
      const disk = mountSmallDisk(diskMegabytes);
      if (disk === undefined) throw new Error("only root can mount a small disk");
      mkdirSync(join(disk.path, "store"));
      const configuration = join(directory, `operator-server-${at}.conf`);
      writeFileSync(
        configuration,
        JSON.stringify({
          ...{ server_name: `n${at + 1}`, host: addressOf(host), port: clientPort, max_payload: messageBytes },
          jetstream: { store_dir: join(disk.path, "store"), sync_interval: "always" },
          cluster: {
            ...{ name: "operators", host: addressOf(host), port: routePort },
            routes: hosts.map((one) => `nats-route://${addressOf(one)}:${routePort}`),
          },
        }),
      );
      const [file = "", ...words] = [...network.wordsFor(host), program, "-c", configuration];
      const server = new OperatorServer(disk, [file, ...words], join(directory, `operator-server-${at}.log`));
      server.start();
      return server;
    });
  }

  static addressesOf(network: FaultNetwork, hosts: readonly number[]): string[] {
    return hosts.map((host) => `nats://${network.addresses[host]}:${clientPort}`);
  }

  /** Does nothing to one that runs. */
  start(): void {
    if (this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) return;
    const [file, ...args] = this.#command;
    const log = openSync(this.#logFile, "a");
    this.#child = spawn(file, args, { stdio: ["ignore", log, log] });
    closeSync(log);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    this.disk.remove();
  }
}
