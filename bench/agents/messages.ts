/** The whole contract between a bench and an agent. Types only, but for its version. */
import type { DescriptorNeed } from "../fleet/descriptors.ts";
import type { FromStormProcess, ToStormProcess } from "../fleet/storm/messages.ts";

/** Raised when these messages change. */
export const protocolVersion = 2;

/** `process`: a number that the bench gives to each process that it starts. */
export type ToAgent =
  | { readonly kind: "hello"; readonly version: string; readonly protocol: number }
  | { readonly kind: "clock" }
  | { readonly kind: "start"; readonly process: number; readonly need: DescriptorNeed }
  | { readonly kind: "to"; readonly process: number; readonly message: ToStormProcess }
  | { readonly kind: "kill"; readonly process: number }
  /** The bench is over: the agent ends all processes, and then the connection. */
  | { readonly kind: "leave" };

/** What an agent tells of its machine. */
export type AgentFacts = {
  readonly hostName: string;
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  /** The hard limit of descriptors of one process. */
  readonly descriptorsMax: number;
};

export type FromAgent =
  | { readonly kind: "welcome"; readonly facts: AgentFacts }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "clock"; readonly nowMs: number }
  | { readonly kind: "from"; readonly process: number; readonly message: FromStormProcess }
  | { readonly kind: "fault"; readonly process: number; readonly message: string }
  | { readonly kind: "ended"; readonly process: number };
