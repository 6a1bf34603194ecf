/** Runner functions that run in the operator's own process: what they get and give. Types only. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/schema.ts";
import type { ExtraArguments } from "../../runners/contract/contract.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { Host } from "../host/host.ts";

/** `exitCode` is set after an interruption; nothing is shown then. */
export type HereOutcome = { readonly value: Value; readonly isSuccess: boolean; readonly exitCode?: number };
export type Here = {
  readonly config: MasterConfig;
  readonly host: Host;
  readonly log: Logger;
};
/** What orchestrations need of it: they run without a terminal, too. `asker`: the user who made the master run it. */
export type OrchestrationHere = Omit<Here, "host"> & {
  readonly host: Pick<Host, "user" | "environment"> & { readonly asker?: string };
};
type Run<Place> = (here: Place, args: ValueMap, extra: ExtraArguments) => Promise<HereOutcome>;
export type HereFunction = Run<Here>;
export type OrchestrationFunction = Run<OrchestrationHere>;
