/** What the main thread asks of the pillar lane and the external lane, and what they answer. Types only. */
import type { MasterConfig } from "../../config/load.ts";
import type { SourceOutcomes } from "../../pillar/external/contract.ts";
import type { CommandCounts, Environment } from "../../pillar/external/run-commands.ts";
import type { ForgetMark } from "../threads/forget-counts.ts";

/** A minion's `_pillar` request. Maps in the new flavour. Without grains nothing is kept. */
export type PillarTask = {
  readonly id: string;
  readonly grains: Uint8Array | undefined;
  readonly saltenv: string | undefined;
  readonly pillarenv: string | undefined;
  readonly override: Uint8Array | undefined;
  /** The minion's data for external sources (`extra_minion_data`), and its request by `pillar.ext`. */
  readonly extraData?: Uint8Array | undefined;
  readonly onDemand?: Uint8Array | undefined;
  /** Forgets the minion's kept pillars first. */
  readonly isCacheCleaned?: boolean;
  /** Answers the matches of the top files instead of a pillar. */
  readonly isTopOnly?: boolean;
  /** Outcomes of the commands of external sources. */
  readonly outcomes?: SourceOutcomes | undefined;
  /** A kept pillar, which is used instead of rendering. */
  readonly kept?: Uint8Array | undefined;
  /** For `pillar_cache` on disk. `find` answers undefined if nothing is kept. `forget` always does. `keep` renders and keeps. */
  readonly cache?: "find" | "keep" | "forget";
  /** With `keep`: keeps nothing if the minion's pillars were forgotten since this mark. */
  readonly mark?: ForgetMark;
};
/** Runs the commands of this minion's pillar. */
export type SourceTask = { readonly id: string };
export type SourceResult = { readonly outcomes: SourceOutcomes; readonly counts: CommandCounts };
/** A rendered pillar, for the minion (network encoding) and for the store (new flavour). `faults` are for the log. */
export type PillarResult = {
  readonly pillar: Uint8Array;
  readonly record: Uint8Array;
  readonly faults: readonly string[];
  /** The pillar without the caller's own values, in the new flavour. Undefined for a pillar with errors. */
  readonly keepable?: Uint8Array | undefined;
  /** The system's error code if it could not be kept on disk. */
  readonly unkept?: string | undefined;
};
export type PillarStart = { readonly config: MasterConfig };
/** `environment`: for the commands. */
export type SourceStart = PillarStart & { readonly environment: Environment };
