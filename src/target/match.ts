/** Decides on a minion whether a job is for it: matches each term against the minion's own id and facts. */
import { evaluateTree } from "./compound.ts";
import type { Facts } from "./facts.ts";
import type { Target } from "./parse.ts";
import { termMatches } from "./term.ts";

export type { Facts } from "./facts.ts";

export function matches(target: Target, facts: Facts): boolean {
  return target.minionTree !== undefined && evaluateTree(target.minionTree, (term) => termMatches(term, facts));
}
