/** What the main thread asks of the pillar lane and the external lane, and what they answer. Types only. */
import type { MasterConfig } from "../../config/load.ts";
import type { SourceOutcomes } from "../../pillar/external/contract.ts";
import type { CommandCounts, Environment } from "../../pillar/external/run-commands.ts";
import type { ForgetMark } from "../threads/forget-counts.ts";

/** What a minion's `_pillar` asks. Maps in the new flavour; without grains nothing is kept. */
export type PillarTask = {
  readonly id: string;
  readonly grains: Uint8Array | undefined;
  readonly saltenv: string | undefined;
  readonly pillarenv: string | undefined;
  readonly override: Uint8Array | undefined;
  /** What the minion sends for external sources (`extra_minion_data`), and what it asks for by `pillar.ext`. */
  readonly extraData?: Uint8Array | undefined;
  readonly onDemand?: Uint8Array | undefined;
  /** Forget what `pillar_cache` keeps of this minion first. */
  readonly isCacheCleaned?: boolean;
  /** Not a pillar, but the top files that decide it. */
  readonly isTopOnly?: boolean;
  /** How the commands of external sources ended. */
  readonly outcomes?: SourceOutcomes | undefined;
  /** A kept pillar that stands for a rendering. */
  readonly kept?: Uint8Array | undefined;
  /** Of `pillar_cache` on disk: `find` answers undefined where nothing is kept, `forget` always; `keep` renders and keeps. */
  readonly cache?: "find" | "keep" | "forget";
  /** With `keep`: nothing is kept once the minion's pillars were forgotten since this mark. */
  readonly mark?: ForgetMark;
};
/** A minion whose pillar's commands are to run. */
export type SourceTask = { readonly id: string };
export type SourceResult = { readonly outcomes: SourceOutcomes; readonly counts: CommandCounts };
/** A rendered pillar, for the minion (network encoding) and for the store (new flavour). `faults` are for the log. */
export type PillarResult = {
  readonly pillar: Uint8Array;
  readonly record: Uint8Array;
  readonly faults: readonly string[];
  /** What may be kept of it: without the caller's own values, and nothing of a pillar with errors. New flavour. */
  readonly keepable?: Uint8Array | undefined;
  /** Why it could not be kept on disk: the system's code. */
  readonly unkept?: string | undefined;
};
export type PillarStart = { readonly config: MasterConfig };
/** `environment`: of the commands. */
export type SourceStart = PillarStart & { readonly environment: Environment };
