/**
 * Python's `re.search` and `re.sub` with groups, on JavaScript's `RegExp`. As in Python, some patterns take exponential time: use it only where a
 * job can be killed, never for targets. Rejects patterns that JavaScript would silently match differently from Python. Pure.
 */
import { type CodeRange, rangeText } from "./classes.ts";
import type { Anchor, PatternNode } from "./nodes.ts";
import { parsePythonRegex, refusal } from "./read.ts";
import { parseReplacement } from "./replacement.ts";

/**
 * `letters`: Python's flags, as in `(?im)`. `isBytes`: pattern and texts are bytes, one a character (latin1), and classes hold ASCII only,
 * as in Python's patterns of bytes.
 */
export type SearchOptions = { readonly letters?: string; readonly isBytes?: boolean };

export class PythonSearch {
  readonly #expression: RegExp;
  readonly #groupCount: number;
  readonly #names: ReadonlyMap<string, number>;
  readonly #forgetful: ReadonlySet<number>;

  /** @throws SaltworksError TARGET_INVALID; `detail.isRefused` is true where Python itself would accept the pattern */
  constructor(source: string, options: SearchOptions = {}) {
    const isBytes = options.isBytes ?? false;
    const { branches, groupCount, names } = parsePythonRegex(source, `${options.letters ?? ""}${isBytes ? "a" : ""}`);
    const captures = inspectCaptures(branches);
    const isFolded = !isBytes && leaves(branches).every((node) => node.ignoresCase);
    const writer = new PatternWriter(isBytes, isFolded, captures.skippable);
    this.#expression = new RegExp(writer.branches(branches), isFolded ? "giu" : "gu");
    this.#groupCount = groupCount;
    this.#names = names;
    this.#forgetful = captures.forgetful;
  }

  isIn(text: string): boolean {
    return this.find(text) !== undefined;
  }

  /** `re.search`: the match, then its groups; a group that took no part is undefined. */
  find(text: string): readonly (string | undefined)[] | undefined {
    this.#expression.lastIndex = 0;
    return this.#expression.exec(text) ?? undefined;
  }

  /** `re.match`. */
  findAtStart(text: string): readonly (string | undefined)[] | undefined {
    return new RegExp(this.#expression.source, this.#expression.flags.replace("g", "y")).exec(text) ?? undefined;
  }

  /**
   * `re.subn`: replaces the first `countMax` matches (0: all). @returns the text and the number of replacements
   *
   * @param replacement - with Python's `\1`, `\g<name>` and escapes
   * @throws SaltworksError TARGET_INVALID
   */
  replace(text: string, replacement: string, countMax = 0): { readonly text: string; readonly count: number } {
    const parts = parseReplacement(replacement, this.#groupCount, this.#names);
    for (const part of parts) {
      if (typeof part === "number" && this.#forgetful.has(part))
        throw refusal(`group ${part}, which a round of a repeat may skip, in a replacement`);
    }
    let count = 0;
    let at = 0;
    let out = "";
    for (const found of text.matchAll(this.#expression)) {
      count += 1;
      out += text.slice(at, found.index);
      for (const part of parts) out += typeof part === "string" ? part : (found[part] ?? "");
      at = found.index + found[0].length;
      if (count === countMax) break;
    }
    return { text: out + text.slice(at), count };
  }
}

/** `re.escape`: a pattern that matches exactly this text. */
export function escapePattern(text: string): string {
  return text.replace(/[^\w]/gu, (character) =>
    (character.codePointAt(0) ?? 0) < 0x80 ? `\\${character}` : character,
  );
}

type Cased = Extract<PatternNode, { ignoresCase: boolean }>;

/** All nodes of a pattern that may match letters. */
function leaves(branches: readonly PatternNode[][]): Cased[] {
  const leavesOf = (node: PatternNode): Cased[] => {
    if ("ignoresCase" in node) return [node];
    if (node.kind === "repeat") return leavesOf(node.item);
    return "branches" in node ? leaves(node.branches) : [];
  };
  return branches.flat().flatMap(leavesOf);
}

/**
 * Finds groups that behave differently in the two languages. `skippable`: may take no part in a match; a reference to it then fails in Python
 * and matches the empty text here. `forgetful`: may be skipped in the last round of a repeat; it keeps its text in Python and loses it here.
 */
function inspectCaptures(branches: readonly PatternNode[][]): { skippable: Set<number>; forgetful: Set<number> } {
  const found = { skippable: new Set<number>(), forgetful: new Set<number>() };
  type State = { readonly isOptional: boolean; readonly isRepeated: boolean; readonly isOptionalInRepeat: boolean };
  const optional = (state: State): State => ({
    ...state,
    isOptional: true,
    isOptionalInRepeat: state.isOptionalInRepeat || state.isRepeated,
  });
  const walk = (all: readonly PatternNode[][], outer: State): void => {
    const state = all.length > 1 ? optional(outer) : outer;
    for (const node of all.flat()) visit(node, state);
  };
  const visit = (node: PatternNode, state: State): void => {
    if (node.kind === "repeat") {
      const inner = node.min === 0 ? optional(state) : state;
      visit(node.item, { ...inner, isRepeated: inner.isRepeated || node.max !== 1 });
    } else if (node.kind === "look") walk(node.branches, node.isNegated ? optional(state) : state);
    else if (node.kind === "group") {
      if (node.number !== undefined && state.isOptional) found.skippable.add(node.number);
      if (node.number !== undefined && state.isOptionalInRepeat) found.forgetful.add(node.number);
      walk(node.branches, state);
    }
  };
  walk(branches, { isOptional: false, isRepeated: false, isOptionalInRepeat: false });
  return found;
}

class PatternWriter {
  readonly #isBytes: boolean;
  /** Whether the whole expression ignores case. */
  readonly #isFolded: boolean;
  readonly #skippable: ReadonlySet<number>;

  constructor(isBytes: boolean, isFolded: boolean, skippable: ReadonlySet<number>) {
    this.#isBytes = isBytes;
    this.#isFolded = isFolded;
    this.#skippable = skippable;
  }

  branches(branches: readonly PatternNode[][]): string {
    return branches.map((branch) => branch.map((node) => this.#node(node)).join("")).join("|");
  }

  #node(node: PatternNode): string {
    switch (node.kind) {
      case "char":
        return this.#set([[node.code, node.code]], false, node.ignoresCase);
      case "set":
        return this.#set(node.members, node.isNegated, node.ignoresCase);
      case "any":
        return node.takesNewline ? "[\\s\\S]" : "[^\\n]";
      case "anchor":
        return anchors[node.at];
      case "repeat":
        return `(?:${this.#node(node.item)}){${node.min},${node.max ?? ""}}${node.isLazy ? "?" : ""}`;
      case "group":
        return `(${node.number === undefined ? "?:" : ""}${this.branches(node.branches)})`;
      case "look":
        return `(?${node.isAhead ? "" : "<"}${node.isNegated ? "!" : "="}${this.branches(node.branches)})`;
      case "reference":
        if (this.#skippable.has(node.number)) throw refusal("a back-reference to a group that may take no part");
        if (node.ignoresCase && !this.#isFolded) throw refusal("a back-reference that ignores case");
        // Separates the group's number from a following digit.
        return `\\${node.number}(?:)`;
      default: {
        const never: never = node;
        return never;
      }
    }
  }

  #set(members: readonly CodeRange[], isNegated: boolean, ignoresCase: boolean): string {
    const all = ignoresCase && !this.#isFolded ? members.flatMap((member) => this.#bothCases(member)) : members;
    const body = all.map((member) => rangeText(member).replaceAll("\\x{", "\\u{")).join("");
    return `[${isNegated ? "^" : ""}${body}]`;
  }

  /** For patterns that ignore case only in part. Bytes: ASCII letters only. */
  #bothCases(range: CodeRange): CodeRange[] {
    if ("category" in range) return [range];
    const [first, last] = range;
    const both: CodeRange[] = [range];
    for (const [from, distance] of [
      [0x41, 0x20],
      [0x61, -0x20],
    ] as const) {
      const [low, high] = [Math.max(first, from), Math.min(last, from + 25)];
      if (low <= high) both.push([low + distance, high + distance]);
    }
    if (this.#isBytes || last < 0x80) return both;
    if (first !== last) throw refusal("ignoring the case of a range beyond ASCII in a part of a pattern");
    const letter = String.fromCodePoint(first);
    for (const other of [letter.toLowerCase(), letter.toUpperCase()]) {
      const code = other.codePointAt(0) ?? first;
      if (Array.from(other).length === 1) both.push([code, code]);
    }
    return both;
  }
}

const word = "[\\p{L}\\p{N}_]";
const anchors: Readonly<Record<Anchor, string>> = {
  textStart: "(?<![\\s\\S])",
  textEnd: "(?![\\s\\S])",
  lastLineEnd: "(?=\\n?(?![\\s\\S]))",
  lineStart: "(?<![^\\n])",
  lineEnd: "(?![^\\n])",
  boundary: `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`,
  insideWord: `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`,
  asciiBoundary: "\\b",
  asciiInsideWord: "\\B",
};
