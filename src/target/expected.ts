/**
 * How a master decides, at publish time, which minions it will wait for. Greedy as Salt's documentation has it: of a minion whose
 * grains and pillar are not known, every term that asks for them is taken for true.
 */
import { evaluateTree } from "./compound.ts";
import type { Facts } from "./facts.ts";
import type { Target } from "./parse.ts";
import { idMatches, needsIdOnly, termMatches } from "./term.ts";

/** `facts` is undefined for an accepted minion that has never sent grains. */
export function matchesExpected(target: Target, id: string, facts: Facts | undefined): boolean {
  return matches(target, id, facts, true);
}

/** For rights and what depends on them: of a minion whose facts are not known, no term that asks for them is true. */
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

/** The names a list target (or the `L@` terms of a compound) gives: those without an accepted key are reported as missing. */
export function listedIds(target: Target): readonly string[] | undefined {
  return target.listedIds;
}
