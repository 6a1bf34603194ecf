/** What running functions may ask of the minion around them: the daemon gives it to its job processes, `call` to itself. */
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { PillarOptions } from "./module-contract.ts";

export type Host = {
  /** @returns whether the master took it */
  fireMaster(tag: string, data: Encodable): Promise<boolean>;
  fireMinion(tag: string, data: Encodable): Promise<void>;
  /** @throws SaltworksError MASTER_UNREACHABLE without a master, and what the session throws */
  masterRequest(load: { readonly [key: string]: Encodable }): Promise<Value>;
  compilePillar(options: PillarOptions): Promise<ValueMap>;
};

/** What a minion knows of its machine and was told by its master. */
export type MinionFacts = { readonly grains: ValueMap; readonly pillar: ValueMap };
