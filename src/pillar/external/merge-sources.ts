/**
 * Merges the external sources (`ext_pillar`) over a pillar, one after the other. Source: Salt 3007's `Pillar.ext_pillar`, observed.
 * A source that fails leaves an error in `_errors` and the others go on.
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

/** How a source is named among the outcomes of commands. */
function placeOf(index: number, name: string): string {
  return `${index}/${name}`;
}

function isExcluded({ excludedSources }: PillarSettings, entry: ValueMap): boolean {
  const [first] = entry.keys();
  return excludedSources.includes(String(first));
}

/** Whether a pillar of this master waits for commands. */
export function hasCommands(settings: PillarSettings): boolean {
  return settings.sources.some(
    (entry) =>
      entry instanceof Map &&
      !isExcluded(settings, entry) &&
      [...entry.keys()].some((name) => externalSources.get(String(name))?.command !== undefined),
  );
}

/** What has to run before this minion's pillar is compiled, by place; a fault where a command cannot be made. */
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
  /** What a minion asks for itself, beside those of the configuration (`pillar.ext`). */
  readonly onDemand: Value | undefined;
  readonly outcomes: SourceOutcomes;
  readonly contextOf: (note: SourceContext["note"]) => Omit<SourceContext, "outcome">;
  /** Into the pillar's `_errors` and the master's log. */
  readonly fail: (message: string) => void;
  /** Into the master's log. */
  readonly note: (fault: string) => void;
};

/** @returns the pillar with all sources merged over it; an empty one where the option is malformed, as in Salt */
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
    // As in Salt: of several sources in one entry the last one that succeeds counts.
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

/** Undefined for a source that failed or is not there. */
function sourceValue(name: string, written: Value, index: number, merge: SourceMerge): Value | undefined {
  const source = externalSources.get(name);
  if (source === undefined) {
    // A master's pillars have an error for it already: it was accepted as missing at the start.
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

/** One entry, as the minion wrote it, if every source that it names may be asked for; an error for the pillar otherwise. */
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

/** A minion chooses it, and it goes into the log. */
function shortName(name: string): string {
  return name.replaceAll(/[^\w.-]/g, "?").slice(0, 64);
}
