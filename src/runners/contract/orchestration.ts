/** What the master and the process of an orchestration tell each other. Types only. */
import type { MasterConfig } from "../../config/load.ts";
import type { PackedAnswer } from "./answer.ts";

/** `args` and `kwargs` are packed. `jid`, `user`: of the runner's call. */
export type OrchestrationCall = {
  readonly config: MasterConfig;
  readonly fun: string;
  readonly args: Uint8Array;
  readonly kwargs: Uint8Array;
  readonly jid: string;
  readonly user: string;
  readonly isByEvent: boolean;
};

/** `faults`: lines for the master's log. */
export type OrchestrationAnswer = PackedAnswer & { readonly success: boolean; readonly faults: readonly string[] };
