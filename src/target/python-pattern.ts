/**
 * Python patterns on a linear-time engine (RE2): matching as `re.match` does, anchored at the start only.
 * No pattern can take more than time proportional to text times pattern, so a target from outside cannot stall a thread.
 *
 * RE2 looks behind but not ahead. A pattern that looks ahead is therefore turned round as a whole: reversed pattern, reversed
 * text, and each look-ahead has become a look-behind. That is exact, because only whether there is a match is asked.
 * One difference remains: `\b` and `\B` know ASCII words only.
 */
import { RE2JS } from "re2js";
import { SaltworksError } from "../errors.ts";
import { patternStepsMax } from "../limits.ts";
import { codeText, rangeText } from "./python-classes.ts";
import type { Anchor, PatternNode } from "./python-nodes.ts";
import { parsePythonRegex, refusal } from "./python-regex.ts";

/** `stepCount`: what it costs to compile. */
export type PythonPattern = { readonly stepCount: number; matchesStart(text: string): boolean };

/** @throws SaltworksError TARGET_INVALID; `detail.isRefused` tells what Python would accept from what it would not */
export function compilePythonPattern(source: string, options: { ignoreCase?: boolean } = {}): PythonPattern {
  const { branches } = parsePythonRegex(source, options.ignoreCase === true ? "i" : "");
  const looks = new Set<boolean>();
  const stepCount = inspect(branches, looks);
  if (stepCount > patternStepsMax) throw refusal(`a pattern of ${stepCount} steps (most: ${patternStepsMax})`);
  if (looks.size === 2) throw refusal("looking ahead and looking behind in one pattern");
  const isReversed = looks.has(true);
  const body = writeBranches(branches, isReversed);
  const engine = compileEngine(isReversed ? `(?s:.*)${body}` : `${body}(?s:.*)`);
  if (!isReversed) return { stepCount, matchesStart: (text) => engine.testExact(text) };
  return { stepCount, matchesStart: (text) => engine.testExact(Array.from(text).reverse().join("")) };
}

function compileEngine(expression: string): RE2JS {
  try {
    return RE2JS.compile(expression, RE2JS.LOOKBEHINDS);
  } catch (error) {
    throw new SaltworksError(
      "TARGET_INVALID",
      "regular expression refused by the linear-time engine",
      { isRefused: true, construct: "a repeat of repeats or a set that is too large" },
      { cause: error },
    );
  }
}

/** Counts the steps that counted repeats unfold to, and notes the directions looked in. */
function inspect(branches: readonly PatternNode[][], looks: Set<boolean>): number {
  let stepCount = 1;
  for (const branch of branches) for (const node of branch) stepCount += inspectNode(node, looks);
  return stepCount;
}

function inspectNode(node: PatternNode, looks: Set<boolean>): number {
  if (node.kind === "repeat") return inspectNode(node.item, looks) * Math.max(1, node.min + 1, node.max ?? 0);
  if (node.kind === "group") return inspect(node.branches, looks);
  if (node.kind === "reference") throw refusal("a back-reference");
  if (node.kind !== "look") return 1;
  looks.add(node.isAhead);
  return inspect(node.branches, looks);
}

function writeBranches(branches: readonly PatternNode[][], isReversed: boolean): string {
  const written = branches.map((branch) => {
    const nodes = branch.map((node) => writeNode(node, isReversed));
    return (isReversed ? nodes.reverse() : nodes).join("");
  });
  return `(?:${written.join("|")})`;
}

function writeNode(node: PatternNode, isReversed: boolean): string {
  switch (node.kind) {
    case "char":
      return node.ignoresCase ? `(?i:${codeText(node.code)})` : codeText(node.code);
    case "set": {
      const set = `[${node.isNegated ? "^" : ""}${node.members.map(rangeText).join("")}]`;
      return node.ignoresCase ? `(?i:${set})` : set;
    }
    case "any":
      return node.takesNewline ? "(?s:.)" : "(?-s:.)";
    case "anchor":
      return isReversed ? reversedAnchors[node.at] : anchors[node.at];
    case "repeat":
      return `(?:${writeNode(node.item, isReversed)})${repeatText(node.min, node.max)}`;
    case "group":
      return writeBranches(node.branches, isReversed);
    case "look": {
      // Only one direction reaches this point, and turned round it is always behind.
      return `(?<${node.isNegated ? "!" : "="}${writeBranches(node.branches, isReversed)})`;
    }
    case "reference":
      throw refusal("a back-reference");
    default: {
      const never: never = node;
      return never;
    }
  }
}

function repeatText(min: number, max: number | undefined): string {
  if (max === undefined) return min === 0 ? "*" : min === 1 ? "+" : `{${min},}`;
  return `{${min},${max}}`;
}

/** Python's `$` also stands before a final newline: nothing that follows `$` can match there except that newline. */
const anchors: Readonly<Record<Anchor, string>> = {
  textStart: "\\A",
  textEnd: "\\z",
  lastLineEnd: "(?:\\n?\\z)",
  lineStart: "(?m:^)",
  lineEnd: "(?m:$)",
  boundary: "\\b",
  insideWord: "\\B",
};
const reversedAnchors: Readonly<Record<Anchor, string>> = {
  textStart: "\\z",
  textEnd: "\\A",
  lastLineEnd: "(?:\\A\\n?)",
  lineStart: "(?m:$)",
  lineEnd: "(?m:^)",
  boundary: "\\b",
  insideWord: "\\B",
};
