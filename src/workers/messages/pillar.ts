/** Tasks of the pillar lane and the external lane, and their answers. Types only. */
import type { MasterConfig } from "../../config/load.ts";
import type { SourceOutcomes, SourceRun } from "../../pillar/external/contract.ts";
import type { Environment } from "../../pillar/external/programs/run-program.ts";
import type { CommandCounts } from "../../pillar/external/run-sources.ts";
import type { BlockingLine } from "../../sidecar/blocking.ts";
import type { ForgetMark } from "../threads/forget-counts.ts";

/** A minion's `_pillar` request. Maps are in the new flavour. Without `grains` the master stores neither grains nor pillar. */
export type PillarTask = {
  readonly id: string;
  readonly grains: Uint8Array | undefined;
  readonly saltenv: string | undefined;
  readonly pillarenv: string | undefined;
  readonly override: Uint8Array | undefined;
  /** `extraData`: the minion's `extra_minion_data`, for external sources. `onDemand`: its request by `pillar.ext`. */
  readonly extraData?: Uint8Array | undefined;
  readonly onDemand?: Uint8Array | undefined;
  /** Forgets the minion's cached pillars first. */
  readonly isCacheCleaned?: boolean;
  /** Answers the matches of the top files instead of a pillar. */
  readonly isTopOnly?: boolean;
  /** Outcomes of external sources' commands. */
  readonly outcomes?: SourceOutcomes | undefined;
  /** A cached pillar, which the lane uses instead of rendering. */
  readonly kept?: Uint8Array | undefined;
  /**
   * For `pillar_cache` on disk. `find` answers the cached pillar, or undefined. `forget` removes the cached ones and
   * answers undefined. `keep` renders and caches.
   */
  readonly cache?: "find" | "keep" | "forget";
  /** With `keep`: the lane caches nothing if the minion's pillars were forgotten since this mark. */
  readonly mark?: ForgetMark;
  /** On which the thread asks the site's own Python. */
  readonly line?: BlockingLine;
};
/** Runs the commands of external sources for this minion's pillar, and asks their servers. `grains`: only if a source needs them. */
export type SourceTask = Pick<PillarTask, "id" | "grains" | "saltenv" | "pillarenv">;
export type SourceResult = { readonly outcomes: SourceOutcomes; readonly counts: CommandCounts };
/**
 * Runs the command of `master_tops: {ext_nodes: COMMAND}` for this minion, if there is one, and adds `others`: what sources in Python found, in the new
 * flavour.
 */
export type TopsTask = { readonly id: string; readonly masterTops: string | undefined; readonly others?: Uint8Array };
/** `states`: SLS files by environment, in the network encoding. */
export type TopsResult = { readonly states: Uint8Array; readonly fault: string | undefined };
/** A rendered pillar, for the minion (network encoding) and for the store (new flavour). `faults` are for the log. */
export type PillarResult = {
  readonly pillar: Uint8Array;
  readonly record: Uint8Array;
  readonly faults: readonly string[];
  /** The external sources that were read. */
  readonly sources: readonly SourceRun[];
  /** The pillar for the cache, without the minion's `override`, in the new flavour. Undefined for a pillar with errors. */
  readonly keepable?: Uint8Array | undefined;
  /** The system's error code if the pillar could not be written to disk. */
  readonly unkept?: string | undefined;
  /** The pillar needs the site's own Python, and the task had no line to it: the result is not to be used. */
  readonly needsPython?: boolean;
  /** Whether Python was asked. */
  readonly usedPython?: boolean;
};
export type PillarStart = { readonly config: MasterConfig };
/** `environment`: environment variables of the commands. */
export type SourceStart = PillarStart & { readonly environment: Environment };
