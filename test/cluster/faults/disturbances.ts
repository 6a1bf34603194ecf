/** Faults of a cluster, each drawn at random, begun, left for some seconds, and ended. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../../bench/load/random.ts";
import type { OperatorServer } from "./operator-server.ts";
import type { FaultMember, FaultSite } from "./site.ts";

type Fault = readonly [name: string, run: (disturbances: Disturbances) => Promise<void>];

export class Disturbances {
  readonly counts = new Map<string, number>();
  readonly faults: string[] = [];
  readonly #site: FaultSite;
  readonly #random: Random;
  readonly #tell: (line: string) => void;

  constructor(site: FaultSite, random: Random, tell: (line: string) => void) {
    this.#site = site;
    this.#random = random;
    this.#tell = tell;
  }

  /** Runs one fault to its end. */
  async next(): Promise<void> {
    const [name, run] = all[Math.floor(this.#random() * all.length)] ?? all[0];
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    this.#tell(name);
    await run(this);
  }

  /** Sets all clocks right: without that a member's jobs count as old. */
  end(): void {
    for (const { clock } of this.#site.members) clock.set(0);
  }

  async kill(): Promise<void> {
    const member = this.#any();
    await member.killAll();
    await this.#while(0, 3_000);
    await this.#start(member);
  }

  /** The master alone is killed; its server goes on and is taken over. */
  async killMaster(): Promise<void> {
    const member = this.#any();
    await member.master.kill();
    await this.#while(0, 2_000);
    await this.#start(member);
  }

  /** A member starts its own again. */
  async killServer(): Promise<void> {
    const member = this.#any();
    member.signalServer("SIGKILL");
    await this.#while(1_000, 4_000);
    member.operatorServer?.start();
  }

  async restart(): Promise<void> {
    const member = this.#any();
    await member.master.stop();
    await this.#while(0, 2_000);
    await this.#start(member);
  }

  async stopAndContinue(): Promise<void> {
    const member = this.#any();
    const isWhole = this.#random() < 0.5;
    member.signalServer("SIGSTOP");
    if (isWhole) member.signalMaster("SIGSTOP");
    await this.#while(2_000, 12_000);
    if (isWhole) member.signalMaster("SIGCONT");
    member.signalServer("SIGCONT");
  }

  /** One against the others, or with three hosts each alone. */
  async partition(): Promise<void> {
    const one = this.#drawHost();
    const others = [...this.#site.network.addresses.keys()].filter((at) => at !== one);
    for (const other of others) this.#site.network.cut(one, other);
    if (this.#random() < 0.3) this.#site.network.cut(others[0] ?? one, others[1] ?? one);
    await this.#while(3_000, 15_000);
    this.#site.network.heal();
  }

  async oneWay(): Promise<void> {
    const [from, count] = [this.#drawHost(), this.#site.network.addresses.length];
    const to = (from + 1 + Math.floor(this.#random() * (count - 1))) % count;
    this.#site.network.cutOneWay(from, to);
    await this.#while(3_000, 15_000);
    this.#site.network.heal();
  }

  async slowLink(): Promise<void> {
    this.#site.network.slow(this.#drawHost(), 64 + Math.floor(this.#random() * 512));
    await this.#while(3_000, 10_000);
    this.#site.network.heal();
  }

  async fullDisk(): Promise<void> {
    const member = this.#any();
    const { operatorServer } = member;
    const server = operatorServer !== undefined && this.#random() < 0.5 ? operatorServer : undefined;
    if (server !== undefined) {
      await this.#fullServer(member, server);
      return;
    }
    member.fillDisk();
    await this.#while(2_000, 8_000);
    member.freeDisk();
    // A master whose store failed ends, as it does alone.
    if ((await this.#hasEnded(member)) || this.#random() < 0.3) {
      await member.killAll();
      await this.#start(member);
    }
  }

  /** An operator's server has turned its store off, and takes a start. */
  async #fullServer(member: FaultMember, server: OperatorServer): Promise<void> {
    member.fillDisk(server.disk);
    await this.#while(2_000, 8_000);
    member.freeDisk(server.disk);
    server.signal("SIGKILL");
    await this.#while(500, 1_000);
    server.start();
  }

  async clockJump(): Promise<void> {
    const { clock } = this.#any();
    clock.set(Math.floor((this.#random() - 0.5) * 7_200));
    await this.#while(2_000, 8_000);
    if (this.#random() < 0.7) clock.set(0);
  }

  async #hasEnded(member: FaultMember): Promise<boolean> {
    return await Promise.race([member.master.ended().then(() => true), delay(500, false)]);
  }

  async #start(member: FaultMember): Promise<void> {
    member.operatorServer?.start();
    try {
      await member.master.restart();
    } catch (error) {
      this.faults.push(`${member.name} does not start: ${(error as Error).message}`);
    }
  }

  #drawHost(): number {
    return Math.floor(this.#random() * this.#site.network.addresses.length);
  }

  #any(): FaultMember {
    return this.#site.any(this.#random);
  }

  async #while(fromMs: number, toMs: number): Promise<void> {
    await delay(fromMs + this.#random() * (toMs - fromMs));
  }
}

const all: readonly [Fault, ...Fault[]] = [
  ["a machine is lost", (some) => some.kill()],
  ["a master is killed", (some) => some.killMaster()],
  ["a server is killed", (some) => some.killServer()],
  ["a master ends in order", (some) => some.restart()],
  ["a member stands still", (some) => some.stopAndContinue()],
  ["a partition", (some) => some.partition()],
  ["a partition one way", (some) => some.oneWay()],
  ["a slow link", (some) => some.slowLink()],
  ["a full disk", (some) => some.fullDisk()],
  ["a clock jumps", (some) => some.clockJump()],
];
