/**
 * Reads Python's regular-expression dialect (Python 3.11, module `re`, text patterns) into a tree.
 * Throws TARGET_INVALID for errors of Python, and with the construct's name for constructs that are not supported.
 */
import { SaltworksError } from "../../errors.ts";
import { patternRepeatMax, targetDepthMax } from "../../limits.ts";
import { asciiSets, type CodeRange, complement, unicodeSets } from "./classes.ts";
import { type Anchor, branchesWidth, type PatternNode } from "./nodes.ts";

/** Python's letters: a (ASCII classes), i (ignore case), m (multi-line), s (dot takes newlines), x (verbose). */
type Flags = {
  readonly a: boolean;
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
  readonly x: boolean;
};

/** `names`: the numbers of groups that have a name. */
export type ParsedPattern = {
  readonly branches: PatternNode[][];
  readonly groupCount: number;
  readonly names: ReadonlyMap<string, number>;
};

/**
 * @param letters - flags that hold for the whole pattern, as `(?im)` in front of it
 * @throws SaltworksError TARGET_INVALID; `detail.isRefused` is true if Python would accept the pattern
 */
export function parsePythonRegex(source: string, letters = ""): ParsedPattern {
  return new PatternReader(source).read(withFlags({ a: false, i: false, m: false, s: false, x: false }, letters, true));
}

export function refusal(construct: string): SaltworksError {
  return new SaltworksError("TARGET_INVALID", `regular expression refused: ${construct} is not supported`, {
    isRefused: true,
    construct,
  });
}

function fault(reason: string): SaltworksError {
  return new SaltworksError("TARGET_INVALID", `regular expression invalid: ${reason}`, { isRefused: false });
}

const controlEscapes: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11, "\\": 92 };
const hexDigitCounts: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

class PatternReader {
  readonly #text: readonly string[];
  #at = 0;
  #depth = 0;
  #groupCount = 0;
  /** Numbers of groups that are closed. */
  readonly #closedGroups = new Set<number>();
  readonly #names = new Map<string, number>();

  constructor(source: string) {
    this.#text = Array.from(source);
  }

  read(flags: Flags): ParsedPattern {
    let global = flags;
    for (let next = this.#globalFlags(global); next !== undefined; next = this.#globalFlags(global)) global = next;
    const branches = this.#branches(global);
    if (this.#peek() !== undefined) throw fault("unbalanced parenthesis");
    return { branches, groupCount: this.#groupCount, names: this.#names };
  }

  #peek(offset = 0): string | undefined {
    return this.#text[this.#at + offset];
  }

  #take(): string {
    const character = this.#text[this.#at];
    if (character === undefined) throw fault("it ends within an escape or a group");
    this.#at += 1;
    return character;
  }

  #accept(word: string): boolean {
    for (let offset = 0; offset < word.length; offset += 1) if (this.#peek(offset) !== word[offset]) return false;
    this.#at += word.length;
    return true;
  }

  /** Flags of a leading `(?ims)`, which hold for the whole pattern; undefined if there is none. */
  #globalFlags(flags: Flags): Flags | undefined {
    const letters = /^\(\?([aiLmsux]+)\)/.exec(this.#text.slice(this.#at, this.#at + 16).join(""));
    if (letters?.[1] === undefined) return undefined;
    this.#at += letters[0].length;
    return withFlags(flags, letters[1], true);
  }

  #branches(flags: Flags): PatternNode[][] {
    this.#depth += 1;
    if (this.#depth > targetDepthMax) throw refusal(`nesting deeper than ${targetDepthMax} groups`);
    const branches = [this.#sequence(flags)];
    while (this.#accept("|")) branches.push(this.#sequence(flags));
    this.#depth -= 1;
    return branches;
  }

  #sequence(flags: Flags): PatternNode[] {
    const nodes: PatternNode[] = [];
    for (;;) {
      const character = this.#peek();
      if (character === undefined || character === "|" || character === ")") return nodes;
      if (flags.x && this.#skippedAsVerbose(character)) continue;
      const repeat = this.#repeatBounds();
      if (repeat !== undefined) {
        nodes.push(this.#repeated(nodes.pop(), repeat.min, repeat.max));
      } else {
        const node = this.#atom(flags);
        if (node !== undefined) nodes.push(node);
      }
    }
  }

  #skippedAsVerbose(character: string): boolean {
    if (/[ \t\n\r\v\f]/.test(character)) {
      this.#at += 1;
      return true;
    }
    if (character !== "#") return false;
    while (this.#peek() !== undefined && this.#peek() !== "\n") this.#at += 1;
    return true;
  }

  /** Bounds of the repeat at this position; undefined if the characters are literals (`x{`, `{a}`). */
  #repeatBounds(): { min: number; max: number | undefined } | undefined {
    if (this.#accept("*")) return { min: 0, max: undefined };
    if (this.#accept("+")) return { min: 1, max: undefined };
    if (this.#accept("?")) return { min: 0, max: 1 };
    if (this.#peek() !== "{") return undefined;
    const bounds = /^\{([0-9]*)(,([0-9]*))?\}/.exec(this.#text.slice(this.#at, this.#at + 32).join(""));
    if (bounds === null || bounds[0] === "{}") return undefined;
    this.#at += bounds[0].length;
    const min = Number(bounds[1] ?? "");
    const upper = bounds[2] === undefined ? bounds[1] : bounds[3];
    const max = upper === undefined || upper === "" ? undefined : Number(upper);
    if (max !== undefined && max < min) throw fault("min repeat greater than max repeat");
    if (Math.max(min, max ?? 0) > patternRepeatMax) throw refusal(`a repeat count over ${patternRepeatMax}`);
    return { min, max };
  }

  #repeated(item: PatternNode | undefined, min: number, max: number | undefined): PatternNode {
    if (item === undefined || item.kind === "anchor") throw fault("nothing to repeat");
    if (item.kind === "repeat") throw fault("multiple repeat");
    if (this.#accept("+")) throw refusal("a possessive repeat");
    return { kind: "repeat", item, min, max, isLazy: this.#accept("?") };
  }

  #atom(flags: Flags): PatternNode | undefined {
    const character = this.#take();
    switch (character) {
      case ".":
        return { kind: "any", takesNewline: flags.s };
      case "^":
        return { kind: "anchor", at: flags.m ? "lineStart" : "textStart" };
      case "$":
        return { kind: "anchor", at: flags.m ? "lineEnd" : "lastLineEnd" };
      case "(":
        return this.#group(flags);
      case "[":
        return this.#set(flags);
      case "\\":
        return this.#escape(flags);
      default:
        return charNode(character.codePointAt(0) ?? 0, flags);
    }
  }

  #group(flags: Flags): PatternNode | undefined {
    if (!this.#accept("?")) return this.#capturing(flags);
    for (const [mark, isAhead, isNegated] of lookMarks) {
      if (this.#accept(mark)) return this.#look(isAhead, isNegated, flags);
    }
    if (this.#accept("#")) {
      while (this.#take() !== ")");
      return undefined;
    }
    if (this.#accept("P=")) {
      const name = this.#nameUpTo(")");
      const number = this.#names.get(name);
      if (number === undefined) throw fault(`unknown group name '${name}'`);
      return this.#reference(number, flags);
    }
    if (this.#accept("P<")) return this.#capturing(flags, this.#nameUpTo(">"));
    if (this.#accept("(")) throw refusal("a conditional group");
    else if (this.#accept(">")) throw refusal("an atomic group");
    else if (!this.#accept(":")) return this.#closed({ kind: "group", branches: this.#branches(this.#scoped(flags)) });
    return this.#closed({ kind: "group", branches: this.#branches(flags) });
  }

  #closed(node: PatternNode): PatternNode {
    if (!this.#accept(")")) throw fault("missing ), unterminated subpattern");
    return node;
  }

  #capturing(flags: Flags, name?: string): PatternNode {
    this.#groupCount += 1;
    const number = this.#groupCount;
    if (name !== undefined) {
      if (this.#names.has(name)) throw fault("redefinition of a group name");
      this.#names.set(name, number);
    }
    const node = this.#closed({ kind: "group", branches: this.#branches(flags), number });
    this.#closedGroups.add(number);
    return node;
  }

  #look(isAhead: boolean, isNegated: boolean, flags: Flags): PatternNode {
    const branches = this.#branches(flags);
    if (!isAhead && branchesWidth(branches) === undefined) throw fault("look-behind requires fixed-width pattern");
    return this.#closed({ kind: "look", isAhead, isNegated, branches });
  }

  #reference(number: number, flags: Flags): PatternNode {
    if (number > this.#groupCount) throw fault(`invalid group reference ${number}`);
    if (!this.#closedGroups.has(number)) throw fault("cannot refer to an open group");
    return { kind: "reference", number, ignoresCase: flags.i };
  }

  #nameUpTo(end: string): string {
    let name = "";
    for (let character = this.#take(); character !== end; character = this.#take()) name += character;
    if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) throw fault("bad character in group name");
    return name;
  }

  /** Flags of `(?i-s:...)`. */
  #scoped(flags: Flags): Flags {
    let letters = "";
    while (/[a-zA-Z-]/.test(this.#peek() ?? "")) letters += this.#take();
    const [on = "", off] = letters.split("-", 2);
    if (letters === "" || off === "") throw fault("unknown extension after (?");
    if (this.#peek() === ")") throw fault("global flags not at the start of the expression");
    if (!this.#accept(":")) throw fault("unknown extension after (?");
    const added = withFlags(flags, on, true);
    if (/a.*u|u.*a/.test(on)) throw fault("flags 'a' and 'u' are incompatible");
    if (off === undefined) return added;
    for (const letter of off) if (on.includes(letter)) throw fault("flag turned on and off");
    if (/[^imsx]/.test(off)) throw fault("flags that cannot be turned off");
    return withFlags(added, off, false);
  }

  #escape(flags: Flags): PatternNode {
    const letter = this.#take();
    const anchor = (flags.a ? asciiAnchors[letter] : undefined) ?? escapedAnchors[letter];
    if (anchor !== undefined) return { kind: "anchor", at: anchor };
    const members = this.#category(letter, flags);
    if (members !== undefined) {
      return { kind: "set", members, isNegated: false, ignoresCase: false };
    }
    if (/[1-9]/.test(letter)) {
      const octal = /^[0-3][0-7]{2}/.exec([letter, this.#peek(), this.#peek(1)].join(""));
      if (octal === null) {
        const second = /[0-9]/.test(this.#peek() ?? "") ? this.#take() : "";
        return this.#reference(Number(letter + second), flags);
      }
    }
    return charNode(this.#escapedCode(letter), flags);
  }

  #category(letter: string, flags: Flags): readonly CodeRange[] | undefined {
    const sets = flags.a ? asciiSets : unicodeSets;
    const members = sets[letter.toLowerCase()];
    if (members === undefined) return undefined;
    return letter === letter.toLowerCase() ? members : complement(members);
  }

  #escapedCode(letter: string): number {
    const control = controlEscapes[letter];
    if (control !== undefined) return control;
    const digitCount = hexDigitCounts[letter];
    if (digitCount !== undefined) return this.#hexCode(digitCount);
    if (/[0-7]/.test(letter)) return this.#octalCode(letter);
    if (letter === "N") throw refusal("a character by its Unicode name");
    if (/[a-zA-Z0-9]/.test(letter)) throw fault(`bad escape \\${letter}`);
    return letter.codePointAt(0) ?? 0;
  }

  #hexCode(digitCount: number): number {
    let digits = "";
    for (let count = 0; count < digitCount; count += 1) digits += this.#take();
    const code = /^[0-9a-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN;
    if (!(code <= 0x10ffff)) throw fault("incomplete escape");
    return code;
  }

  #octalCode(first: string): number {
    let digits = first;
    while (digits.length < 3 && /[0-7]/.test(this.#peek() ?? "")) digits += this.#take();
    const code = Number.parseInt(digits, 8);
    if (code > 0o377) throw fault("octal escape value outside of range 0-0o377");
    return code;
  }

  #set(flags: Flags): PatternNode {
    const isNegated = this.#accept("^");
    const members: CodeRange[] = [];
    for (let isFirst = true; isFirst || this.#peek() !== "]"; isFirst = false) {
      const low = this.#setMember(flags);
      if (this.#peek() !== "-" || this.#peek(1) === "]") {
        members.push(...(typeof low === "number" ? [[low, low] as const] : low));
        continue;
      }
      this.#take();
      const high = this.#setMember(flags);
      if (typeof low !== "number" || typeof high !== "number" || high < low) throw fault("bad character range");
      members.push([low, high]);
    }
    this.#take();
    return { kind: "set", members, isNegated, ignoresCase: flags.i };
  }

  #setMember(flags: Flags): number | readonly CodeRange[] {
    const character = this.#peek() === undefined ? undefined : this.#take();
    if (character === undefined) throw fault("unterminated character set");
    if (character !== "\\") return character.codePointAt(0) ?? 0;
    const letter = this.#take();
    if (letter === "b") return 8;
    return this.#category(letter, flags) ?? this.#escapedCode(letter);
  }
}

/** Under `(?a)` case is ignored for ASCII letters only. */
function charNode(code: number, flags: Flags): PatternNode {
  return { kind: "char", code, ignoresCase: flags.i && !(flags.a && code > 0x7f) };
}

const lookMarks: readonly (readonly [string, boolean, boolean])[] = [
  ["=", true, false],
  ["!", true, true],
  ["<=", false, false],
  ["<!", false, true],
];

const escapedAnchors: Readonly<Record<string, Anchor>> = {
  A: "textStart",
  Z: "textEnd",
  b: "boundary",
  B: "insideWord",
};
const asciiAnchors: Readonly<Record<string, Anchor>> = { b: "asciiBoundary", B: "asciiInsideWord" };

function withFlags(flags: Flags, letters: string, isOn: boolean): Flags {
  const result = { ...flags };
  for (const letter of letters) {
    if (letter === "L") throw fault("cannot use the L flag with a text pattern");
    if (letter === "u") result.a = false;
    else if (letter in result) result[letter as keyof Flags] = isOn;
    else throw fault("unknown flag");
  }
  return result;
}
