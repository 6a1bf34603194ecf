/** Matches targets against the minion whose pillar is compiled: for the top file, and for `salt['match.*']` in templates. */
import { matches } from "../../target/match.ts";
import { expandTarget } from "../../target/nodegroups.ts";
import { parseTarget } from "../../target/parse.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { PillarSettings } from "./settings.ts";

/** `pillar`: the values so far; only set if external sources are merged before files (`ext_pillar_first`). */
export type Minion = { readonly id: string; readonly grains: ValueMap; readonly pillar?: ValueMap };

/** @throws SaltworksError TARGET_INVALID for a kind or expression that is invalid or refused */
export function matchesMinion(
  minion: Minion,
  settings: PillarSettings,
  kind: string,
  expression: string | readonly string[],
  delimiter = ":",
): boolean {
  const facts = { id: minion.id, grains: minion.grains, pillar: minion.pillar ?? new Map() };
  const target = expandTarget(kind, expression, settings.nodegroups);
  return matches(parseTarget(target.kind, target.expression, delimiter), facts);
}
