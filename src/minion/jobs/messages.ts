/**
 * The whole contract between the minion and a job process. Types only. `Uint8Array` members are msgpack in the bin flavour, which keeps types
 * that a structured clone loses.
 */
import type { MinionConfig } from "../../config/schema.ts";
import type { ErrorCode } from "../../errors.ts";
import type { Environment } from "../modules/machine/environment.ts";

export type ToJobProcess =
  /** `extrasUrl`: the module that exports `minionExtras`. */
  | {
      readonly kind: "start";
      readonly config: MinionConfig;
      readonly environment: Environment;
      readonly extrasUrl: string | undefined;
    }
  /** Sent before the first job, and when the facts have changed. */
  | { readonly kind: "facts"; readonly grains: Uint8Array; readonly pillar: Uint8Array }
  /** A publish load without its serial number. The process answers with `done`, unless it is killed. */
  | { readonly kind: "job"; readonly load: Uint8Array }
  /** A scheduled job (functions/scheduled-return.ts), packed as a map. The process answers as it does to a job. */
  | { readonly kind: "scheduled"; readonly call: Uint8Array }
  | { readonly kind: "answer"; readonly number: number; readonly value: Uint8Array }
  | { readonly kind: "refusal"; readonly number: number; readonly code: ErrorCode; readonly message: string };

export type FromJobProcess =
  /** The process has loaded its modules and takes jobs, one at a time. */
  | { readonly kind: "ready" }
  /** The members of the return, which can be sent. The job's returners still run. */
  | { readonly kind: "returned"; readonly result: Uint8Array }
  /** The process takes the next job. `result`: the members of the return, if `returned` did not send them. */
  | { readonly kind: "done"; readonly result?: Uint8Array }
  | { readonly kind: "ask"; readonly number: number; readonly ask: Ask }
  | { readonly kind: "log"; readonly level: LogLevel; readonly text: string };

export type LogLevel = "debug" | "info" | "warn" | "error";

/** A call of the host (functions/host.ts), as data. */
export type Ask =
  | { readonly call: "fireMaster" | "fireMinion"; readonly tag: string; readonly data: Uint8Array }
  | { readonly call: "masterRequest" | "compilePillar" | "setGrains"; readonly data: Uint8Array };
