/** A workload of the operator's own: what a workload file may say, with defaults and meanings. docs/workload.md is its reference. */

import type { RequestVersion } from "../fleet/minion-options.ts";
import type { Distribution } from "../load/distribution.ts";
import type { Arrivals } from "../load/open-loop.ts";
import type { StormParameters } from "../scenarios/setup/storm-setup.ts";

/** A part of the run: rates are multiplied by a factor that goes from `from` to `to` in a line. */
export type Stage = {
  readonly name: string;
  readonly seconds: number;
  readonly from: number;
  readonly to: number;
  /** Whether the stage is in the result. */
  readonly isMeasured: boolean;
};

/** Minions of a job: a share or a number of the fleet, drawn anew for each job, or the ones that a glob names. */
export type JobTarget =
  | { readonly kind: "share"; readonly share: number }
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "glob"; readonly glob: string };

type Named = {
  /** The class of operations in the result. */
  readonly name: string;
};
type Paced = Named & {
  /** A second, over the whole fleet. */
  readonly rate: number;
};

/** `bytes`: of the returned text. `delayMs`: from the answer to the publish to a minion's return. */
export type JobOperation = Paced & {
  readonly kind: "job";
  readonly target: JobTarget;
  readonly function: string;
  readonly bytes: Distribution;
  readonly delayMs: Distribution;
};
/** Returns to jobs that were published before, as those of minions' own schedules. */
export type ReturnOperation = Paced & {
  readonly kind: "return";
  readonly function: string;
  readonly bytes: Distribution;
};
/** `_minion_event`, or `_mine`: minions put a text into their mine. */
export type TextOperation = Paced & { readonly kind: "event" | "mine"; readonly bytes: number };
export type MineGetOperation = Paced & { readonly kind: "mine_get"; readonly target: string; readonly bytes: number };
export type PillarOperation = Paced & { readonly kind: "pillar" };
/** Pieces of files. `path`: a file that the master has; without it the bench gives its own master one of `bytes`. */
export type FileOperation = Paced & { readonly kind: "file"; readonly bytes: number; readonly path: string };
export type AuthOperation = Paced & { readonly kind: "auth"; readonly hasToken: boolean };
/** Calls of the HTTP API: at a rate, or by `users` that wait for each answer and then think. */
export type ApiOperation = Named & {
  readonly kind: "api";
  readonly call: Readonly<Record<string, unknown>>;
  readonly pace: { readonly rate: number } | { readonly users: number; readonly thinkMs: Distribution };
};

export type Operation =
  | JobOperation
  | ReturnOperation
  | TextOperation
  | MineGetOperation
  | PillarOperation
  | FileOperation
  | AuthOperation
  | ApiOperation;

export const kinds = ["job", "return", "event", "mine", "mine_get", "pillar", "file", "auth", "api"] as const;

export type Workload = {
  readonly name: string;
  readonly minions: number;
  /** Request versions that minions speak, each as often as its share of 100. */
  readonly versions: readonly RequestVersion[];
  readonly connections: number;
  readonly processes: number;
  readonly seed: number;
  readonly arrivals: Arrivals;
  /** Returns of each minion before the first stage, which do not count. */
  readonly warmUp: number;
  /** The URL of the API of a master that runs already. */
  readonly apiUrl: string;
  readonly stages: readonly Stage[];
  readonly operations: readonly Operation[];
  /** The file's text, which the result keeps. */
  readonly text: string;
};

/** Parameters of its run, which the command line may change. */
export type WorkloadParameters = StormParameters & {
  readonly warmUp: number;
  readonly scale: number;
  readonly timeScale: number;
  readonly seed: number;
};
