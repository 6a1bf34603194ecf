/** Nodegroups written out: `N@name` becomes the group's own expression in parentheses, groups within groups, too. */
import { SaltworksError } from "../errors.ts";
import { targetDepthMax, targetTermsMax } from "../limits.ts";

type Nodegroups = ReadonlyMap<string, string | readonly string[]>;

function refused(reason: string): SaltworksError {
  return new SaltworksError("TARGET_INVALID", `nodegroup ${reason}`, { isRefused: true });
}

function wordsOf(name: string, groups: Nodegroups, within: readonly string[]): string[] {
  const group = groups.get(name);
  if (group === undefined) throw refused(`"${name}" is not defined`);
  if (within.includes(name)) throw refused(`"${name}" contains itself`);
  if (within.length >= targetDepthMax) throw refused("nested too deep");
  const words = typeof group === "string" ? group.split(/\s+/).filter((word) => word !== "") : group;
  return ["(", ...expandNodegroups(words, groups, [...within, name]), ")"];
}

/** The words of a compound without any `N@`. @throws SaltworksError TARGET_INVALID */
export function expandNodegroups(
  words: readonly string[],
  groups: Nodegroups,
  within: readonly string[] = [],
): string[] {
  const expanded: string[] = [];
  for (const word of words) {
    if (word.startsWith("N@")) expanded.push(...wordsOf(word.slice(2), groups, within));
    else expanded.push(word);
    if (expanded.length > targetTermsMax) throw refused(`expands to more than ${targetTermsMax} words`);
  }
  return expanded;
}
