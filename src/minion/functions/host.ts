/** What running functions may ask of the minion: the daemon answers its job processes, `call` answers itself. */
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { PillarOptions } from "./module-contract.ts";

export type Host = {
  /** @returns whether the master accepted it */
  fireMaster(tag: string, data: Encodable): Promise<boolean>;
  fireMinion(tag: string, data: Encodable): Promise<void>;
  /** @throws SaltworksError MASTER_UNREACHABLE without a master, and what the session throws */
  masterRequest(load: { readonly [key: string]: Encodable }): Promise<Value>;
  compilePillar(options: PillarOptions): Promise<ValueMap>;
};

/** What a minion knows of its machine, and what its master told it. */
export type MinionFacts = { readonly grains: ValueMap; readonly pillar: ValueMap };
