/** Grains and pillar of the running minion, renewed on request. At most one renewal runs, and at most one waits. */
import type { Logger } from "pino";
import { encode } from "../wire/msgpack.ts";
import type { ValueMap } from "../wire/values.ts";
import { applyTo } from "./functions/grains-change.ts";
import type { MinionFacts } from "./functions/host.ts";
import type { GrainsChange } from "./functions/module-contract.ts";

export type FactsOptions = {
  readonly log: Logger;
  readonly collectGrains: () => Promise<ValueMap>;
  /** Undefined without a master. */
  readonly requestPillar: (grains: ValueMap, isCacheCleaned: boolean) => Promise<ValueMap | undefined>;
  readonly onChange: (facts: MinionFacts) => void;
};

type Wish = { isPillarWanted: boolean; isCacheCleaned: boolean };

export class FactsRefresh {
  readonly #options: FactsOptions;
  #facts: MinionFacts = { grains: new Map(), pillar: new Map() };
  /** Changes since the renewal under way began: what it collects may lack them. */
  readonly #changed: GrainsChange[] = [];
  /** The packed grains with which the minion last asked for its pillar: the master has these grains. */
  #sentGrains: Buffer | undefined;
  #waiting: Wish | undefined;
  #running: Promise<void> | undefined;

  constructor(options: FactsOptions) {
    this.#options = options;
  }

  get current(): MinionFacts {
    return this.#facts;
  }

  /** Collects the first grains. */
  async collect(): Promise<void> {
    this.#set({ ...this.#facts, grains: await this.#options.collectGrains() });
  }

  /** Fetches the first pillar. @throws what the request throws */
  async fetchPillar(): Promise<void> {
    const { grains } = this.#facts;
    await this.#renewPillar(grains, encode(grains, "bin"), false);
  }

  /** Changes grains in memory. A job that begins afterwards has them. */
  setGrains(change: GrainsChange): void {
    if (this.#running !== undefined) this.#changed.push(change);
    const grains = new Map(this.#facts.grains);
    applyTo(grains, change);
    this.#set({ ...this.#facts, grains });
  }

  /** Renews the grains, then the pillar if the wish asks for it or the grains have changed. Logs a failure and then keeps the old ones. */
  async renew(wish: Partial<Wish> = {}): Promise<void> {
    this.#waiting = {
      isPillarWanted: wish.isPillarWanted === true || this.#waiting?.isPillarWanted === true,
      isCacheCleaned: wish.isCacheCleaned === true || this.#waiting?.isCacheCleaned === true,
    };
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  async #drain(): Promise<void> {
    for (let wish = this.#take(); wish !== undefined; wish = this.#take()) {
      try {
        await this.#renewOnce(wish);
      } catch (error) {
        this.#options.log.error({ err: error }, "the minion failed to refresh grains and pillar; is the master up?");
      }
    }
  }

  #take(): Wish | undefined {
    const wish = this.#waiting;
    this.#waiting = undefined;
    return wish;
  }

  async #renewOnce(wish: Wish): Promise<void> {
    this.#changed.length = 0;
    const grains = await this.#options.collectGrains();
    for (const change of this.#changed.splice(0)) applyTo(grains, change);
    const packed = encode(grains, "bin");
    if (!packed.equals(encode(this.#facts.grains, "bin"))) this.#set({ ...this.#facts, grains });
    const isChanged = this.#sentGrains?.equals(packed) !== true;
    if (wish.isPillarWanted || isChanged) await this.#renewPillar(grains, packed, wish.isCacheCleaned);
  }

  /** `packed`: the grains, packed. */
  async #renewPillar(grains: ValueMap, packed: Buffer, isCacheCleaned: boolean): Promise<void> {
    const pillar = await this.#options.requestPillar(grains, isCacheCleaned);
    if (pillar === undefined) return;
    this.#sentGrains = packed;
    this.#set({ ...this.#facts, pillar });
  }

  #set(facts: MinionFacts): void {
    this.#facts = facts;
    this.#options.onChange(facts);
  }
}
