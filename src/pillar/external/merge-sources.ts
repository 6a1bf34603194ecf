/**
 * Merges external sources (`ext_pillar`) over a pillar, one after the other. A source that fails adds an error to `_errors`; the next
 * source still runs. Source: Salt 3007's `Pillar.ext_pillar`, observed.
 */

import { hasCode, SaltworksError } from "../../errors.ts";
import { onDemandSourcesMax } from "../../limits.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { merged } from "../input/merge.ts";
import type { PillarSettings } from "../input/settings.ts";
import { boundArguments } from "./arguments.ts";
import type { CommandOutcome, SourceCommand, SourceContext, SourceOutcomes } from "./contract.ts";
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

/** Whether a configured source runs a command, so that pillars wait for it. */
export function hasCommands(settings: PillarSettings): boolean {
  return settings.sources.some(
    (entry) =>
      entry instanceof Map &&
      !isExcluded(settings, entry) &&
      [...entry.keys()].some((name) => externalSources.get(String(name))?.command !== undefined),
  );
}

/** Commands to run before this minion's pillar is compiled, by place. A command with invalid arguments is a fault instead. */
export function commandsOf(
  settings: PillarSettings,
  id: string,
  shell: string,
): readonly (readonly [place: string, command: SourceCommand | CommandOutcome])[] {
  return settings.sources.flatMap((entry, index) => {
    if (!(entry instanceof Map) || isExcluded(settings, entry)) return [];
    return [...entry].flatMap(([key, written]): [string, SourceCommand | CommandOutcome][] => {
      const name = String(key);
      const source = externalSources.get(name);
      if (source?.command === undefined) return [];
      try {
        return [[placeOf(index, name), source.command(boundArguments(source, written), id, shell)]];
      } catch (error) {
        if (!hasCode(error, "PILLAR_FAILED")) throw error;
        const { message, detail } = error as SaltworksError;
        return [[placeOf(index, name), { fault: message, isFatal: detail.isFatal === true }]];
      }
    });
  });
}

export type SourceMerge = {
  readonly settings: PillarSettings;
  /** Sources that the minion asks for (`pillar.ext`), beside the configured ones. */
  readonly onDemand: Value | undefined;
  readonly outcomes: SourceOutcomes;
  readonly contextOf: (note: SourceContext["note"]) => Omit<SourceContext, "outcome">;
  /** Writes to the pillar's `_errors` and the master's log. */
  readonly fail: (message: string) => void;
  /** Writes to the master's log only. */
  readonly note: (fault: string) => void;
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
      const read = sourceValue(String(key), written, index, merge);
      if (read !== undefined) value = read;
    }
    if (!isTrue(value)) continue;
    if (value instanceof Map) result = merged(result, value, settings.joinsLists);
    else merge.fail(`Failed to load ext_pillar ${String([...entry.keys()].at(-1))}: the data is not a map`);
  }
  return result;
}

/** The source's value; undefined if it failed or is unknown. */
function sourceValue(name: string, written: Value, index: number, merge: SourceMerge): Value | undefined {
  const source = externalSources.get(name);
  if (source === undefined) {
    // If `accept_missing` names the source, the pillar already has an error for it.
    const isTold = merge.settings.errors.some((error) => error.startsWith(`ext_pillar: ${name} `));
    if (!isTold) merge.fail(`Failed to load ext_pillar ${name}: it is not available here`);
    return undefined;
  }
  const note = (fault: string) => merge.note(`ext_pillar ${name}: ${fault}`);
  const outcome = merge.outcomes[placeOf(index, name)];
  try {
    return source.read({ ...merge.contextOf(note), outcome }, boundArguments(source, written));
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    const message = `Failed to load ext_pillar ${name}: ${error.message}`;
    const isPassedOver =
      merge.settings.ignoresFailures && source.command !== undefined && error.detail.isFatal !== true;
    if (isPassedOver) merge.note(message);
    else merge.fail(message);
    return undefined;
  }
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
