/**
 * Matches Python patterns on a linear-time engine (RE2) as `re.match` does, anchored at the start only.
 * Time is proportional to text length times pattern length, so that a client's target cannot stall a thread.
 *
 * RE2 looks behind but not ahead. A pattern that looks ahead is therefore reversed together with the text, so that each look-ahead becomes
 * a look-behind. That is exact, because the result is only whether a match exists.
 * For `\b` and `\B` in texts beyond ASCII the text has marks (boundaries.ts), and each character of the pattern also consumes a mark.
 */
import { RE2JS } from "re2js";
import { SaltworksError } from "../../errors.ts";
import { patternStepsMax } from "../../limits.ts";
import { markedBoundaries, markedText, markSet, needsMarks } from "./boundaries.ts";
import { codeText, rangeText } from "./classes.ts";
import type { Anchor, PatternNode } from "./nodes.ts";
import { parsePythonRegex, refusal } from "./read.ts";

/** `stepCount`: the cost of compiling it. */
export type PythonPattern = { readonly stepCount: number; matchesStart(text: string): boolean };

/** @throws SaltworksError TARGET_INVALID; `detail.isRefused` is true if Python would accept the pattern */
export function compilePythonPattern(source: string, options: { ignoreCase?: boolean } = {}): PythonPattern {
  const { branches } = parsePythonRegex(source, options.ignoreCase === true ? "i" : "");
  const found: Found = { looks: new Set(), hasBoundary: false };
  const stepCount = inspect(branches, found);
  if (stepCount > patternStepsMax) throw refusal(`a pattern of ${stepCount} steps (most: ${patternStepsMax})`);
  if (found.looks.size === 2) throw refusal("looking ahead and looking behind in one pattern");
  const isReversed = found.looks.has(true);
  const engine = compileEngine(new PatternWriter(isReversed, false).whole(branches));
  const matchesPlain = (text: string) => engine.testExact(isReversed ? Array.from(text).reverse().join("") : text);
  if (!found.hasBoundary) return { stepCount, matchesStart: matchesPlain };
  // Compiled here, so that the engine refuses a pattern now and not during a match.
  const marked = compileEngine(new PatternWriter(isReversed, true).whole(branches));
  const matchesMarked = (text: string) => {
    const characters = Array.from(text);
    return marked.testExact(markedText(isReversed ? characters.reverse() : characters));
  };
  return { stepCount, matchesStart: (text) => (needsMarks(text) ? matchesMarked(text) : matchesPlain(text)) };
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

/** The directions of a pattern's looks (ahead or not), and whether it has word boundaries. */
type Found = { readonly looks: Set<boolean>; hasBoundary: boolean };

/** Counts the steps with counted repeats expanded. Adds looks and boundaries to `found`. */
function inspect(branches: readonly PatternNode[][], found: Found): number {
  let stepCount = 1;
  for (const branch of branches) for (const node of branch) stepCount += inspectNode(node, found);
  return stepCount;
}

function inspectNode(node: PatternNode, found: Found): number {
  if (node.kind === "repeat") return inspectNode(node.item, found) * Math.max(1, node.min + 1, node.max ?? 0);
  if (node.kind === "group") return inspect(node.branches, found);
  if (node.kind === "reference") throw refusal("a back-reference");
  if (node.kind === "anchor" && node.at in markedBoundaries) found.hasBoundary = true;
  if (node.kind !== "look") return 1;
  found.looks.add(node.isAhead);
  return inspect(node.branches, found);
}

class PatternWriter {
  readonly #isReversed: boolean;
  /** Matches the mark after each character of the expression. */
  readonly #mark: string;
  readonly #anchors: Readonly<Record<Anchor, string>>;

  constructor(isReversed: boolean, isMarked: boolean) {
    this.#isReversed = isReversed;
    this.#mark = isMarked ? markSet : "";
    const written = isMarked ? markedAnchors : anchors;
    this.#anchors = isReversed ? turnedRound(written, this.#mark) : written;
  }

  /** Returns the expression for whole texts. */
  whole(branches: readonly PatternNode[][]): string {
    const body = this.#branches(branches);
    return this.#mark + (this.#isReversed ? `(?s:.*)${body}` : `${body}(?s:.*)`);
  }

  #branches(branches: readonly PatternNode[][]): string {
    const written = branches.map((branch) => {
      const nodes = branch.map((node) => this.#node(node));
      return (this.#isReversed ? nodes.reverse() : nodes).join("");
    });
    return `(?:${written.join("|")})`;
  }

  #node(node: PatternNode): string {
    switch (node.kind) {
      case "char":
        return (node.ignoresCase ? `(?i:${codeText(node.code)})` : codeText(node.code)) + this.#mark;
      case "set": {
        const set = `[${node.isNegated ? "^" : ""}${node.members.map(rangeText).join("")}]`;
        return (node.ignoresCase ? `(?i:${set})` : set) + this.#mark;
      }
      case "any":
        return (node.takesNewline ? "(?s:.)" : "(?-s:.)") + this.#mark;
      case "anchor":
        return this.#anchors[node.at];
      case "repeat":
        return `(?:${this.#node(node.item)})${repeatText(node.min, node.max)}`;
      case "group":
        return this.#branches(node.branches);
      case "look": {
        // Patterns that look in both directions were refused; in a reversed pattern the direction is always behind.
        return `(?<${node.isNegated ? "!" : "="}${this.#branches(node.branches)})`;
      }
      case "reference":
        throw refusal("a back-reference");
      default: {
        const never: never = node;
        return never;
      }
    }
  }
}

function repeatText(min: number, max: number | undefined): string {
  if (max === undefined) return min === 0 ? "*" : min === 1 ? "+" : `{${min},}`;
  return `{${min},${max}}`;
}

/** Python's `$` also matches before a final newline; after it only that newline can match. */
const anchors: Readonly<Record<Anchor, string>> = {
  textStart: "\\A",
  textEnd: "\\z",
  lastLineEnd: "(?:\\n?\\z)",
  lineStart: "(?m:^)",
  lineEnd: "(?m:$)",
  boundary: "\\b",
  insideWord: "\\B",
  asciiBoundary: "\\b",
  asciiInsideWord: "\\B",
};
/** The expression consumes the first mark before anything else. */
const markedAnchors: Readonly<Record<Anchor, string>> = {
  ...anchors,
  ...markedBoundaries,
  textStart: `(?<=\\A${markSet})`,
  lastLineEnd: `(?:(?:\\n${markSet})?\\z)`,
  lineStart: `(?<=(?:\\A|\\n)${markSet})`,
};

/** Anchors for a reversed text, whose start is the end of the original. */
function turnedRound(written: Readonly<Record<Anchor, string>>, mark: string): Readonly<Record<Anchor, string>> {
  const { textStart, textEnd, lineStart, lineEnd } = written;
  return {
    ...written,
    textStart: textEnd,
    textEnd: textStart,
    lastLineEnd: `(?:${textStart}(?:\\n${mark})?)`,
    lineStart: lineEnd,
    lineEnd: lineStart,
  };
}
