/**
 * Decides on the master which minions a publish waits for. Greedy, as Salt documents it: without a minion's grains and
 * pillar, terms that need them count as true.
 */
import { evaluateTree } from "./compound.ts";
import type { Facts } from "./facts.ts";
import type { Target } from "./parse.ts";
import { idMatches, needsIdOnly, termMatches } from "./term.ts";

/** `facts`: undefined for an accepted minion that never sent grains. */
export function matchesExpected(target: Target, id: string, facts: Facts | undefined): boolean {
  return matches(target, id, facts, true);
}

/** For permissions: without a minion's facts, terms that need them count as false. */
export function matchesKnown(target: Target, id: string, facts: Facts | undefined): boolean {
  return matches(target, id, facts, false);
}

function matches(target: Target, id: string, facts: Facts | undefined, isGreedy: boolean): boolean {
  if (target.masterTree === undefined) return false;
  return evaluateTree(target.masterTree, (term) => {
    if (needsIdOnly(term)) return idMatches(term, id);
    return facts === undefined ? isGreedy : termMatches(term, facts);
  });
}

/** Names of a list target or of a compound's `L@` terms. Names without an accepted key are reported missing. */
export function listedIds(target: Target): readonly string[] | undefined {
  return target.listedIds;
}
