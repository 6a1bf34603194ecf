/**
 * Decides on the master which minions a publish waits for. Greedy, as Salt documents it: if a minion's grains and pillar are not known,
 * terms that ask for them count as true.
 */
import { evaluateTree } from "./compound.ts";
import type { Facts } from "./facts.ts";
import type { Target } from "./parse.ts";
import { idMatches, needsIdOnly, termMatches } from "./term.ts";

/** `facts` is undefined for an accepted minion that has never sent grains. */
export function matchesExpected(target: Target, id: string, facts: Facts | undefined): boolean {
  return matches(target, id, facts, true);
}

/** For permissions: if a minion's facts are not known, terms that ask for them count as false. */
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
