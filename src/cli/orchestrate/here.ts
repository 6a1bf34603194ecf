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
export type HereFunction = (here: Here, args: ValueMap, extra: ExtraArguments) => Promise<HereOutcome>;
