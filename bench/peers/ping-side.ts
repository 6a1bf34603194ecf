/** One master with a fleet of complete simulated minions. A turn is several `test.ping`s to all minions. */
import { cpuTimeMs } from "../cpu-time.ts";
import { type Fleet, openFleet } from "../fleet/fleet.ts";
import type { LocalClient } from "../local-client.ts";
import { measured } from "../scenarios/measures/measure.ts";
import type { MasterUnderTest } from "../scenarios/setup/master-contract.ts";
import { type MasterChoice, masterConfigOf, startMaster } from "../scenarios/setup/master-under-test.ts";
import { type Follower, follow } from "../scenarios/setup/storm-setup.ts";
import { contenderName } from "./against.ts";
import type { LoadTurn } from "./load-report.ts";

export type PingSideOptions = {
  readonly master: MasterChoice;
  readonly minionCount: number;
  readonly keyDirectory?: string;
};

const upTimeoutMs = 300_000;
const returnsTimeoutMs = 120_000;

export class PingSide {
  readonly name: string;
  readonly #master: MasterUnderTest;
  readonly #fleet: Fleet;
  readonly #client: LocalClient;
  readonly #events: Follower;

  private constructor(options: PingSideOptions, master: MasterUnderTest, fleet: Fleet, events: Follower) {
    this.name = contenderName(options.master, master.version);
    this.#master = master;
    this.#fleet = fleet;
    this.#client = master.client();
    this.#events = events;
  }

  /** Resolves when the whole fleet is up. */
  static async open(options: PingSideOptions): Promise<PingSide> {
    const { minionCount, keyDirectory } = options;
    const master = await startMaster(options.master, masterConfigOf(options.master, {}));
    let fleet: Fleet | undefined;
    try {
      fleet = await openFleet({
        masterHost: "127.0.0.1",
        requestPort: master.requestPort,
        minionCount,
        ...(keyDirectory === undefined ? {} : { keyDirectory }),
      });
      await fleet.untilUp(upTimeoutMs);
      return new PingSide(options, master, fleet, await follow(master));
    } catch (error) {
      await fleet?.close();
      await master.remove();
      throw error;
    }
  }

  get returnEvents(): number {
    return this.#events.counts.returns;
  }

  /** Each publish waits until all returns of the previous one were acknowledged. */
  async turn(publishes: number): Promise<LoadTurn> {
    const generatorBefore = this.#generatorCpuMs();
    const { span } = await measured(this.#master, new AbortController().signal, async () => {
      for (let index = 0; index < publishes; index += 1) await this.#pingAll();
    });
    return {
      cpuMs: span.cpuMs,
      operations: publishes * this.#fleet.minionCount,
      wallMs: span.wallMs,
      generatorCpuMs: this.#generatorCpuMs() - generatorBefore,
    };
  }

  async close(): Promise<void> {
    this.#events.close();
    this.#client.close();
    await this.#fleet.close();
    await this.#master.remove();
  }

  async #pingAll(): Promise<void> {
    const wanted = this.#fleet.counters.returnsAcknowledged + this.#fleet.minionCount;
    await this.#client.publish("*", "test.ping");
    await this.#fleet.until("all returns", (now) => now.returnsAcknowledged >= wanted, returnsTimeoutMs);
  }

  #generatorCpuMs(): number {
    return this.#fleet.processIds.reduce((sum, pid) => sum + cpuTimeMs(pid), 0);
  }
}
