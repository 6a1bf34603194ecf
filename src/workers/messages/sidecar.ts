/** Tasks of the sidecar's lane, and their answers. Types only. */
import type { MessagePort } from "node:worker_threads";
import type { MasterConfig } from "../../config/load.ts";
import type { ErrorCode } from "../../errors.ts";
import type { PackedAnswer } from "../../runners/contract/answer.ts";
import type { RunnerCaller } from "../../runners/contract/contract.ts";
import type { AskedTask } from "../../sidecar/outcome.ts";
import type { Sidecar } from "../../sidecar/sidecar.ts";

/** `environment`: variables for Python. */
export type SidecarStart = {
  readonly config: MasterConfig;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** A runner or wheel function. `args`, `kwargs`: in the new flavour. `port`: gets a `CallEvent` for each event that it fires meanwhile. */
export type CallTask = {
  readonly kind: "call";
  readonly fun: string;
  readonly args: Uint8Array;
  readonly kwargs: Uint8Array;
  readonly caller: RunnerCaller;
  readonly port: MessagePort;
};
/** `data`: a map in the new flavour. */
export type CallEvent = { readonly tag: string; readonly data: Uint8Array };
/** `isForgotten`: the site's modules are loaded anew at the next request. */
export type SidecarLook = { readonly kind: "look"; readonly isForgotten: boolean };
/** `ask` is answered with an `AskOutcome`. */
export type SidecarTask = AskedTask | CallTask | SidecarLook;

/** `isMissing`: neither Salt nor the site has the function, or there is no Python. */
export type SidecarResult = PackedAnswer & {
  readonly success: boolean;
  readonly code?: ErrorCode;
  /** What the function printed. */
  readonly printed: string;
  /** How many events it sent to the port. */
  readonly events: number;
  readonly isMissing: boolean;
};
export type SidecarLookAnswer = Sidecar["state"] & { readonly complaints: readonly string[] };
