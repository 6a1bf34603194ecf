/** A network of namespaces on this machine: each member has an address of its own, and packets between two of them can be dropped or slowed down. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";

const bridge = "swbr";
const outerAddress = "10.77.0.1";
const prefix = "10.77.0.";
const firstHost = 11;

/** Runs a program to its end. @throws Error with what it printed */
function run(file: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(file, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${file} ${args.join(" ")}: ${error?.message ?? stderr}`);
}

class Host {
  readonly address: string;
  readonly link: string;
  readonly #holder: ChildProcess;

  private constructor(at: number, holder: ChildProcess) {
    this.address = `${prefix}${firstHost + at}`;
    this.link = `swe${at}`;
    this.#holder = holder;
  }

  /** `holder` keeps the namespace alive: it prints a line once it is in it. */
  static async open(at: number): Promise<Host> {
    const holder = spawn("unshare", ["--net", "sh", "-c", "echo ready; exec sleep 86400"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (holder.stdout === null) throw new TypeError("no output");
    await once(holder.stdout, "data");
    const host = new Host(at, holder);
    const outer = `swv${at}`;
    run("ip", "link", "add", outer, "type", "veth", "peer", "name", host.link);
    run("ip", "link", "set", outer, "master", bridge, "up");
    run("ip", "link", "set", host.link, "netns", String(holder.pid));
    host.run("ip", "address", "add", `${host.address}/24`, "dev", host.link);
    host.run("ip", "link", "set", host.link, "up");
    host.run("ip", "link", "set", "lo", "up");
    return host;
  }

  /** The words that run a program on this host. */
  get words(): readonly string[] {
    return ["nsenter", `--net=/proc/${this.#holder.pid}/ns/net`];
  }

  run(...command: readonly string[]): void {
    const [file = "", ...args] = [...this.words, ...command];
    run(file, ...args);
  }

  close(): void {
    this.#holder.kill("SIGKILL");
  }
}

export class FaultNetwork {
  readonly #hosts: readonly Host[];
  readonly #undo: (() => void)[] = [];

  private constructor(hosts: readonly Host[]) {
    this.#hosts = hosts;
  }

  /** Must run in a network namespace of its own, whose links then end with its last process. @throws Error if the machine does not allow it */
  static async open(count: number): Promise<FaultNetwork> {
    run("ip", "link", "set", "lo", "up");
    run("ip", "link", "add", bridge, "type", "bridge");
    run("ip", "address", "add", `${outerAddress}/24`, "dev", bridge);
    run("ip", "link", "set", bridge, "up");
    const hosts: Host[] = [];
    for (let at = 0; at < count; at += 1) hosts.push(await Host.open(at));
    return new FaultNetwork(hosts);
  }

  get addresses(): readonly string[] {
    return this.#hosts.map(({ address }) => address);
  }

  wordsFor(at: number): readonly string[] {
    return this.#host(at).words;
  }

  /** Drops what `from` sends to `to`, so that a connection between the two stands still in both directions. */
  cutOneWay(from: number, to: number): void {
    const host = this.#host(from);
    const route = ["blackhole", `${this.#host(to).address}/32`];
    host.run("ip", "route", "add", ...route);
    this.#undo.push(() => host.run("ip", "route", "delete", ...route));
  }

  cut(one: number, other: number): void {
    this.cutOneWay(one, other);
    this.cutOneWay(other, one);
  }

  /** Everything that `at` sends, to minions too, goes at `kilobits` a second and waits for its turn. */
  slow(at: number, kilobits: number): void {
    const { link } = this.#host(at);
    const device = ["dev", link, "root"];
    this.#host(at).run(
      "tc",
      ...["qdisc", "add", ...device, "tbf", "rate", `${kilobits}kbit`, "burst", "32kbit", "latency", "2s"],
    );
    this.#undo.push(() => this.#host(at).run("tc", "qdisc", "delete", ...device));
  }

  heal(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  close(): void {
    for (const host of this.#hosts) host.close();
  }

  #host(at: number): Host {
    const host = this.#hosts[at];
    if (host === undefined) throw new RangeError(`no host ${at}`);
    return host;
  }
}
