/**
 * Merges external sources (`ext_pillar`) over a pillar, one after the other. A source that fails adds an error to `_errors`; the next
 * source still runs. Source: Salt 3007's `Pillar.ext_pillar`, observed.
 */

import { requirePackage } from "../../databases/packages.ts";
import { SaltworksError } from "../../errors.ts";
import { onDemandSourcesMax } from "../../limits.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { SitePython } from "../in-python/ask-python.ts";
import type { PillarSettings } from "../input/settings.ts";
import { reasonOf, sourceFault } from "../input/source-fault.ts";
import { boundArguments } from "./arguments.ts";
import type {
  ExternalSource,
  SourceAsked,
  SourceContext,
  SourceOutcome,
  SourceOutcomes,
  SourceQuestion,
  SourceRun,
} from "./contract.ts";
import type { CommandFault, SourceCommand } from "./programs/run-program.ts";
import { externalSources } from "./sources.ts";

const malformed = 'The "ext_pillar" option is malformed';

/** The key of a source in `SourceOutcomes`. */
function placeOf(index: number, name: string): string {
  return `${index}/${name}`;
}

function isExcluded({ excludedSources }: PillarSettings, entry: ValueMap): boolean {
  const [first] = entry.keys();
  return excludedSources.includes(String(first));
}

/** The configured sources that are known, with their places and arguments. */
function configured(
  settings: PillarSettings,
): readonly { place: string; name: string; source: ExternalSource; written: Value }[] {
  return settings.sources.flatMap((entry, index) => {
    if (!(entry instanceof Map) || isExcluded(settings, entry)) return [];
    return [...entry].flatMap(([key, written]) => {
      const name = String(key);
      const source = externalSources.get(name);
      return source === undefined ? [] : [{ place: placeOf(index, name), name, source, written }];
    });
  });
}

/** What pillars wait for: whether a configured source runs a command or asks a server, and whether one needs the minion's grains. */
export function waitsOf(settings: PillarSettings): { readonly isWaiting: boolean; readonly needsGrains: boolean } {
  const sources = configured(settings).map(({ source }) => source);
  return {
    isWaiting: sources.some(({ command, ask }) => command !== undefined || ask !== undefined),
    needsGrains: sources.some(({ needsGrains }) => needsGrains === true),
  };
}

/** @throws SaltworksError PACKAGE_MISSING for a configured source whose package is not installed */
export function checkSourcePackages(settings: PillarSettings): void {
  for (const { name, source } of configured(settings))
    if (source.packageName !== undefined) requirePackage(`ext_pillar: ${name}`, source.packageName);
}

export type SourceTurn = {
  readonly place: string;
  readonly run: SourceCommand | SourceQuestion | CommandFault;
};

/** What runs before this minion's pillar is compiled, in order. A source with invalid arguments is a fault instead. */
export function turnsOf(
  settings: PillarSettings,
  asked: Pick<SourceAsked, "id" | "grains" | "pillarenv" | "saltenv" | "environment">,
  shell: string,
): readonly SourceTurn[] {
  const { option } = settings;
  return configured(settings).flatMap(({ place, source, written }): SourceTurn[] => {
    const { command, ask } = source;
    if (command === undefined && ask === undefined) return [];
    try {
      const args = boundArguments(source, written);
      if (command !== undefined) return [{ place, run: command(args, { id: asked.id, option }, shell) }];
      return ask === undefined ? [] : [{ place, run: (limits) => ask(args, { ...asked, option, ...limits }) }];
    } catch (error) {
      return [{ place, run: faultOf(error) }];
    }
  });
}

/** An error that is not ours (a header that HTTP forbids, a path that is too long) costs its source and not the pillar. Only its code is told. */
export function faultOf(error: unknown): CommandFault {
  if (!(error instanceof SaltworksError)) return { fault: `it failed: ${reasonOf(error)}`, isFatal: false };
  return { fault: error.message, isFatal: error.detail.isFatal === true };
}

export type SourceMerge = {
  readonly settings: PillarSettings;
  /** Sources that the minion asks for (`pillar.ext`), beside the configured ones. */
  readonly onDemand: Value | undefined;
  readonly outcomes: SourceOutcomes;
  readonly contextOf: (note: SourceContext["note"]) => Omit<SourceContext, "outcome" | "pillar" | "reply">;
  /** Writes to the pillar's `_errors` and the master's log. */
  readonly fail: (message: string) => void;
  /** Writes to the master's log only. */
  readonly note: (fault: string) => void;
  /** Counts a source. */
  readonly ran: (run: SourceRun) => void;
};

/** @returns the pillar with all sources merged over it; an empty map if the option is malformed, as in Salt */
export function withSources(pillar: ValueMap, merge: SourceMerge): ValueMap {
  const { settings } = merge;
  const entries = [...settings.sources, ...onDemandEntries(merge)];
  let result = pillar;
  for (const [index, entry] of entries.entries()) {
    if (!(entry instanceof Map) || entry.size === 0) {
      merge.fail(malformed);
      return new Map();
    }
    if (isExcluded(settings, entry)) continue;
    // As in Salt, if an entry names several sources, the last one that succeeds counts.
    let value: Value = null;
    for (const [key, written] of entry) {
      const read = sourceValue(String(key), written, { index, pillar: result, merge });
      if (read !== undefined) value = read;
    }
    if (!isTrue(value)) continue;
    if (value instanceof Map) result = settings.merge(result, value);
    else merge.fail(`Failed to load ext_pillar ${String([...entry.keys()].at(-1))}: the data is not a map`);
  }
  return result;
}

/** `pillar`: the values that are merged so far. */
type SourcePlace = { readonly index: number; readonly pillar: ValueMap; readonly merge: SourceMerge };

/** The source's value; undefined if it failed or is unknown. */
function sourceValue(name: string, written: Value, place: SourcePlace): Value | undefined {
  const { index, pillar, merge } = place;
  const source = externalSources.get(name);
  if (source === undefined) {
    const { python } = merge.settings;
    if (python?.hasSource(name) === true) return pythonValue(name, written, place, python);
    // If `accept_missing` names the source, the pillar already has an error for it.
    const isTold = merge.settings.errors.some((error) => error.startsWith(`ext_pillar: ${name} `));
    if (!isTold) merge.fail(`Failed to load ext_pillar ${name}: it is not available here`);
    return undefined;
  }
  const note = (fault: string) => merge.note(`ext_pillar ${name}: ${fault}`);
  const outcome = merge.outcomes[placeOf(index, name)];
  const startedMs = performance.now();
  let isFailed = true;
  try {
    const context = { ...merge.contextOf(note), pillar, outcome, reply: () => replyIn(outcome) };
    const value = source.read(context, boundArguments(source, written));
    isFailed = false;
    return value;
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    const message = `Failed to load ext_pillar ${name}: ${error.message}`;
    const isWaiting = source.command !== undefined || source.ask !== undefined;
    const isPassedOver = merge.settings.ignoresFailures && isWaiting && error.detail.isFatal !== true;
    if (isPassedOver) merge.note(message);
    else merge.fail(message);
    return undefined;
  } finally {
    const seconds = (performance.now() - startedMs) / 1_000 + (outcome?.seconds ?? 0);
    merge.ran({ source: name, isFailed, seconds });
  }
}

/** The value of a source in the site's own Python. */
function pythonValue(name: string, written: Value, place: SourcePlace, python: SitePython): Value | undefined {
  const { pillar, merge } = place;
  const { minion, saltenv, pillarenv, extraData } = merge.contextOf(() => undefined);
  const startedMs = performance.now();
  let isFailed = true;
  try {
    const value = python.source(name, written, pillar, { ...minion, saltenv, pillarenv, extra: extraData });
    isFailed = false;
    return value;
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    merge.fail(`Failed to load ext_pillar ${name}: ${error.message}`);
    return undefined;
  } finally {
    merge.ran({ source: name, isFailed, seconds: (performance.now() - startedMs) / 1_000 });
  }
}

function replyIn(outcome: SourceOutcome | undefined): Uint8Array {
  if (outcome === undefined) throw sourceFault("servers of external pillars are asked only by a master");
  if ("fault" in outcome) throw sourceFault(outcome.fault, { isFatal: outcome.isFatal });
  if (!("reply" in outcome)) throw sourceFault("the server left no answer");
  return outcome.reply;
}

/** Returns the minion's entry if minions may ask for every source in it. Otherwise reports errors and returns none. */
function onDemandEntries({ settings, onDemand, fail }: SourceMerge): readonly ValueMap[] {
  if (onDemand === undefined || !isTrue(onDemand)) return [];
  if (!(onDemand instanceof Map) || onDemand.size > onDemandSourcesMax) {
    fail("On-demand pillar is not formatted as a dictionary");
    return [];
  }
  const names = [...onDemand.keys()].map(String);
  const refused = names.filter((name) => !settings.onDemandSources.includes(name));
  const unserved = names.filter((name) => !refused.includes(name) && externalSources.get(name)?.isForMinions !== true);
  for (const name of refused)
    fail(`The ext_pillar module ${shortName(name)} is not allowed for on-demand pillar data (on_demand_ext_pillar)`);
  for (const name of unserved) fail(`The ext_pillar module ${shortName(name)} cannot be asked for on demand`);
  return refused.length + unserved.length > 0 ? [] : [onDemand];
}

/** Shortens the name, because a minion chooses it and the log shows it. */
function shortName(name: string): string {
  return name.replaceAll(/[^\w.-]/g, "?").slice(0, 64);
}
