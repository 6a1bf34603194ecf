/** Grains and pillar of the running minion, renewed on request. At most one renewal runs, and at most one waits. */
import type { Logger } from "pino";
import { encode } from "../wire/msgpack.ts";
import type { ValueMap } from "../wire/values.ts";
import type { MinionFacts } from "./functions/host.ts";

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
    const pillar = await this.#options.requestPillar(this.#facts.grains, false);
    if (pillar !== undefined) this.#set({ ...this.#facts, pillar });
  }

  /** Renews the grains, then the pillar if the wish asks for it or the grains have changed. After a failure, which is logged, the old facts stay. */
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
        this.#options.log.error({ err: error }, "grains and pillar could not be renewed; is the master up?");
      }
    }
  }

  #take(): Wish | undefined {
    const wish = this.#waiting;
    this.#waiting = undefined;
    return wish;
  }

  async #renewOnce(wish: Wish): Promise<void> {
    const grains = await this.#options.collectGrains();
    const isChanged = !encode(grains, "bin").equals(encode(this.#facts.grains, "bin"));
    if (isChanged) this.#set({ ...this.#facts, grains });
    if (!wish.isPillarWanted && !isChanged) return;
    const pillar = await this.#options.requestPillar(grains, wish.isCacheCleaned);
    if (pillar !== undefined) this.#set({ grains, pillar });
  }

  #set(facts: MinionFacts): void {
    this.#facts = facts;
    this.#options.onChange(facts);
  }
}
