/** A cluster under faults: three masters, each on a host and a disk of its own, whose programs can be ended, stopped, or given another time. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { descriptorsForMaster } from "../../../bench/fleet/descriptors.ts";
import type { Random } from "../../../bench/load/random.ts";
import type { LocalClient } from "../../../bench/local-client.ts";
import { MasterProcess } from "../../../bench/master-process.ts";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { hasCodeIn } from "../../../src/config/files/system-errors.ts";
import { SettableClock } from "../../fault/clock.ts";
import { mountSmallDisk, type SmallDisk } from "../../fault/small-disk.ts";
import { cliFile } from "../../fleet/our-master.ts";
import { FaultNetwork } from "./network.ts";
import { OperatorServer } from "./operator-server.ts";

export type SiteOptions = {
  readonly members: number;
  readonly minions: number;
  readonly diskMegabytes: number;
  /** The members use an operator's own NATS: as many servers, on hosts and disks of their own. */
  readonly isOperatorNats: boolean;
};

const poolPort = 4_520;

export class FaultMember {
  readonly name: string;
  readonly disk: SmallDisk;
  readonly clock: SettableClock;
  readonly master: MasterProcess;
  /** The server of an operator's own NATS with the member's number. Undefined if the member starts its own. */
  readonly operatorServer: OperatorServer | undefined;

  constructor(name: string, disk: SmallDisk, clock: SettableClock, master: MasterProcess, server?: OperatorServer) {
    [this.name, this.disk, this.clock, this.master, this.operatorServer] = [name, disk, clock, master, server];
  }

  /** The text of a minion's accepted key; undefined without one. */
  acceptedKey(id: string): string | undefined {
    try {
      return readFileSync(join(this.disk.path, "pki", "minions", id), "utf8");
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  client(): LocalClient {
    return this.master.client();
  }

  get log(): string {
    return readFileSync(join(this.master.directory, "output"), "utf8");
  }

  /** The member's nats-server; undefined while it does not run. */
  get serverPid(): number | undefined {
    try {
      const pid = Number(readFileSync(join(this.master.cacheDirectory, "cluster", "nats-server.pid"), "utf8"));
      process.kill(pid, 0);
      return pid;
    } catch (error) {
      if (hasCodeIn(error, "ENOENT", "ESRCH")) return undefined;
      throw error;
    }
  }

  signalServer(signal: NodeJS.Signals): void {
    if (this.operatorServer !== undefined) {
      this.operatorServer.signal(signal);
      return;
    }
    const pid = this.serverPid;
    if (pid !== undefined) process.kill(pid, signal);
  }

  signalMaster(signal: NodeJS.Signals): void {
    process.kill(this.master.processId, signal);
  }

  /** As when the machine loses its power, but for what its disk had not synced. */
  async killAll(): Promise<void> {
    this.signalServer("SIGKILL");
    await this.master.kill();
    this.signalServer("SIGKILL");
  }

  fillDisk(disk = this.disk): void {
    const chunk = Buffer.alloc(1024 * 1024);
    const file = join(disk.path, "filler");
    writeFileSync(file, "");
    try {
      for (;;) writeFileSync(file, chunk, { flag: "a" });
    } catch (error) {
      if (!hasCodeIn(error, "ENOSPC")) throw error;
    }
  }

  freeDisk(disk = this.disk): void {
    rmSync(join(disk.path, "filler"), { force: true });
  }
}

export class FaultSite {
  readonly network: FaultNetwork;
  readonly members: readonly FaultMember[];

  private constructor(network: FaultNetwork, members: readonly FaultMember[]) {
    this.network = network;
    this.members = members;
  }

  /** Resolves when all members have joined. */
  static async open(options: SiteOptions, directory: string): Promise<FaultSite> {
    const places = Array.from({ length: options.members }, (_, at) => at);
    const network = await FaultNetwork.open(options.members * (options.isOperatorNats ? 2 : 1));
    const { diskMegabytes, isOperatorNats } = options;
    const serverHosts = isOperatorNats ? places.map((at) => options.members + at) : [];
    const servers = await OperatorServer.startAll(network, serverHosts, diskMegabytes, directory);
    const addresses = places.map((at) => network.addresses[at] ?? "");
    const secret = newClusterSecret();
    const configOf = (host: string) => ({
      ...{ cluster_id: "faults", cluster_secret: secret },
      ...(isOperatorNats
        ? { cluster_nats_servers: OperatorServer.addressesOf(network, serverHosts) }
        : {
            cluster_pool_port: poolPort,
            cluster_peers: addresses.filter((other) => other !== host).map((peer) => `${peer}:${poolPort}`),
          }),
    });
    const opened = await Promise.all(
      addresses.map((host, at) => openMember(network, at, configOf(host), options, directory, servers[at])),
    );
    return new FaultSite(network, opened);
  }

  member(at: number): FaultMember {
    const member = this.members[at];
    if (member === undefined) throw new RangeError(`no member ${at}`);
    return member;
  }

  any(random: Random): FaultMember {
    return this.member(Math.floor(random() * this.members.length));
  }

  async close(): Promise<void> {
    for (const member of this.members) member.signalServer("SIGCONT");
    await Promise.all(this.members.map(({ master }) => master.kill()));
    for (const member of this.members) {
      member.signalServer("SIGKILL");
      member.clock.close();
      await member.master.remove();
      await member.operatorServer?.close();
      member.disk.remove();
    }
    this.network.close();
  }
}

async function openMember(
  network: FaultNetwork,
  at: number,
  cluster: object,
  { minions, diskMegabytes }: SiteOptions,
  directory: string,
  server: OperatorServer | undefined,
): Promise<FaultMember> {
  const host = network.addresses[at] ?? "";
  const disk = mountSmallDisk(diskMegabytes);
  if (disk === undefined) throw new Error("only root can mount a small disk");
  const clockDirectory = join(directory, `clock-${at}`);
  mkdirSync(clockDirectory);
  const clock = new SettableClock(clockDirectory);
  const master = await MasterProcess.start({
    command: [...network.wordsFor(at), process.execPath, cliFile, "master"],
    host,
    config: {
      id: `member${at + 1}`,
      ...cluster,
      auto_accept: true,
      worker_threads: 1,
      log_level: "info",
      root_dir: "/",
      cachedir: join(disk.path, "cache"),
      pki_dir: join(disk.path, "pki"),
    },
    descriptors: descriptorsForMaster(minions),
    env: clock.env,
  });
  return new FaultMember(`member${at + 1}`, disk, clock, master, server);
}
