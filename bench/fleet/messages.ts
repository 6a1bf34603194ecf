/** The whole contract between a fleet and its processes. Types only. */
import type { FleetCounters } from "./counters.ts";
import type { MinionOptions } from "./minion-options.ts";

/** Minions `first` to `first + count - 1` of the fleet; a minion's key follows from its index. */
export type StartFleet = {
  readonly kind: "start";
  readonly options: MinionOptions;
  readonly idPrefix: string;
  readonly first: number;
  readonly count: number;
  readonly primes: readonly string[];
  readonly bringUpsAtOnce: number;
};

export type ToProcess =
  | StartFleet
  | { readonly kind: "acknowledged"; readonly call: number; readonly jid: string }
  | { readonly kind: "stop" };

export type FromProcess =
  | { readonly kind: "counters"; readonly counters: FleetCounters }
  | { readonly kind: "acknowledged"; readonly call: number; readonly ids: readonly string[] }
  | { readonly kind: "fault"; readonly message: string };
