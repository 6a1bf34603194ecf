/**
 * Reads targets as minions of 2014.1, 2014.7 and 2015.5 do, so that tests can hold a master against such a fleet.
 * Source: docs/protocol.md section 12.3, and the decisions of those releases in test/vectors/nodegroups.json.
 */
import { SaltworksError } from "../errors.ts";
import { type CompoundWord, readMinionTree } from "./compound.ts";
import { parseTarget, type Target } from "./parse.ts";
import { globTerm } from "./term.ts";

export const oldReleases = ["2014.1", "2014.7", "2015.5"] as const;
export type OldRelease = (typeof oldReleases)[number];

const kinds = ["glob", "pcre", "list", "grain", "grain_pcre", "pillar", "ipcidr", "data", "compound"];
const letterKinds: Readonly<Record<string, string>> = {
  G: "grain",
  P: "grain_pcre",
  I: "pillar",
  L: "list",
  S: "ipcidr",
  E: "pcre",
};
const operators = new Set(["and", "or", "not", "(", ")"]);

/** @throws SaltworksError TARGET_INVALID where that release ignored the job or failed on it */
export function parseAsOldRelease(
  release: OldRelease,
  kind: string,
  expression: string | readonly string[],
  delimiter?: string,
): Target {
  const knowsPillarPcre = release === "2015.5";
  if (!kinds.includes(kind) && !(kind === "pillar_pcre" && knowsPillarPcre)) throw ignored(`kind ${kind}`);
  // 2015.5 brought the delimiter.
  if (kind !== "compound") return parseTarget(kind, expression, release === "2015.5" ? delimiter : undefined);
  if (typeof expression !== "string") throw ignored("a compound that is a list");
  const words: CompoundWord[] = [];
  for (const text of expression.split(/\s+/).filter((word) => word !== "")) {
    if (text[1] === "@") words.push(typedWord(text, knowsPillarPcre));
    else if (operators.has(text)) words.push(...operatorWords(text, words, release));
    else words.push({ kind: "term", term: globTerm(text) });
  }
  const tree = readMinionTree(words);
  if (typeof tree === "string") throw ignored(tree);
  return { kind: "compound", minionTree: tree, masterTree: undefined, listedIds: undefined };
}

function typedWord(text: string, knowsPillarPcre: boolean): CompoundWord {
  const letter = text.slice(0, 1);
  const kind = letter === "J" && knowsPillarPcre ? "pillar_pcre" : letterKinds[letter];
  if (kind === undefined) throw ignored(`the term ${letter}@`);
  const tree = parseTarget(kind, text.slice(2)).minionTree;
  return { kind: "term", term: tree?.kind === "term" ? tree.term : { kind: "nothing" } };
}

/** These releases put an `and` before each `not` that has no `and` or `or` before it, even where that breaks the expression. */
function operatorWords(text: string, before: readonly CompoundWord[], release: OldRelease): CompoundWord[] {
  const last = before.at(-1);
  const isParenthesis = text === "(" || text === ")";
  if (last === undefined) {
    if (!isParenthesis) throw ignored(`an expression that begins with ${text}`);
    return release === "2014.1" ? [] : [{ kind: "operator", text }];
  }
  const isJoined = last.kind === "operator" && (last.text === "and" || last.text === "or");
  if (text !== "not" || isJoined) return [{ kind: "operator", text }];
  return [
    { kind: "operator", text: "and" },
    { kind: "operator", text },
  ];
}

function ignored(what: string): SaltworksError {
  return new SaltworksError("TARGET_INVALID", `this minion's release does not understand ${what}`, { isRefused: true });
}
