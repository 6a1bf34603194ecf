/** What running functions may ask of the minion. The daemon answers the requests of its job processes; `call` answers in its own process. */
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { GrainsChange, PillarOptions } from "./module-contract.ts";

export type Host = {
  /** @returns whether the master accepted the event */
  fireMaster(tag: string, data: Encodable): Promise<boolean>;
  fireMinion(tag: string, data: Encodable): Promise<void>;
  /** @throws SaltworksError MASTER_UNREACHABLE without a master, and what the session throws */
  masterRequest(load: { readonly [key: string]: Encodable }): Promise<Value>;
  compilePillar(options: PillarOptions): Promise<ValueMap>;
  /** The minion's next job has these grains, although the minion collects its grains later. */
  setGrains(change: GrainsChange): Promise<void>;
};

/** Grains describe the minion's machine; the pillar comes from its master. */
export type MinionFacts = { readonly grains: ValueMap; readonly pillar: ValueMap };
