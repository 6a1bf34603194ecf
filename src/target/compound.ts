/**
 * Compound targets: words split at white space, `and` `or` `not` `(` `)`, typed terms such as `G@os:Debian`, globs.
 * Master and minion read the same text by slightly different rules (docs/compatibility.md, "Targeting"), so each has its own tree.
 */
import { SaltworksError } from "../errors.ts";
import { targetDepthMax, targetPatternStepsMax, targetTermsMax } from "../limits.ts";
import { tooManySteps } from "./nested-match.ts";
import { globTerm, ipTerm, listTerm, nestedTerm, patternSteps, pcreTerm, type Term } from "./term.ts";

export type Tree =
  | { readonly kind: "term"; readonly term: Term }
  | { readonly kind: "not"; readonly inner: Tree }
  | { readonly kind: "and" | "or"; readonly items: readonly Tree[] }
  | { readonly kind: "nothing" };

/** A side's tree is undefined if the expression is invalid for that side; it then matches no minion. */
export type Compound = {
  readonly minionTree: Tree | undefined;
  readonly masterTree: Tree | undefined;
  /** Names of `L@` terms that do not stand directly under `not`. Names without an accepted key are reported missing. */
  readonly listedIds: readonly string[];
  /** Says which side cannot read the expression, and why. */
  readonly fault: string | undefined;
};

/** One word of an expression, with its parsed term. */
export type CompoundWord =
  | { readonly kind: "operator"; readonly text: string }
  | { readonly kind: "term"; readonly term: Term };
/** What one side accepts: the master closes open parentheses at the end, the minion evaluates `( )`. */
type Rules = { readonly closesUnclosed: boolean; readonly allowsEmpty: boolean };

const minionRules: Rules = { closesUnclosed: false, allowsEmpty: true };
const masterRules: Rules = { closesUnclosed: true, allowsEmpty: false };
const operators = new Set(["and", "or", "not", "(", ")"]);

/** @throws SaltworksError TARGET_INVALID when neither side can read it, or when a term is refused */
export function parseCompound(expression: string | readonly string[], isPillarExact: boolean): Compound {
  const texts = typeof expression === "string" ? expression.split(/\s+/).filter((text) => text !== "") : expression;
  if (texts.length > targetTermsMax) throw overLimit(`more than ${targetTermsMax} words`);
  const listedIds: string[] = [];
  let stepCount = 0;
  const words = texts.map((text, index): CompoundWord => {
    if (operators.has(text)) return { kind: "operator", text };
    if (text.startsWith("L@") && texts[index - 1] !== "not") listedIds.push(...listNames(text.slice(2)));
    const term = parseTerm(text, isPillarExact);
    stepCount += patternSteps(term);
    if (stepCount > targetPatternStepsMax) throw tooManySteps();
    return { kind: "term", term };
  });
  const minion = readMinionTree(words);
  const master = readTree(words, masterRules);
  if (typeof minion === "string" && typeof master === "string") throw invalid(master);
  return {
    minionTree: typeof minion === "string" ? undefined : minion,
    masterTree: typeof master === "string" ? undefined : master,
    listedIds,
    fault: faultOf(minion, master),
  };
}

function faultOf(minion: Tree | string, master: Tree | string): string | undefined {
  if (typeof minion === "string") return `minions cannot read it (${minion}), so that none will answer`;
  return typeof master === "string" ? `the master cannot read it (${master}), so that it expects no minion` : undefined;
}

export function listNames(text: string): string[] {
  return text.split(",").filter((name) => name !== "");
}

export function evaluateTree(tree: Tree, holds: (term: Term) => boolean): boolean {
  switch (tree.kind) {
    case "term":
      return holds(tree.term);
    case "not":
      return !evaluateTree(tree.inner, holds);
    case "and":
      return tree.items.every((item) => evaluateTree(item, holds));
    case "or":
      return tree.items.some((item) => evaluateTree(item, holds));
    default:
      return false;
  }
}

function invalid(reason: string): SaltworksError {
  return new SaltworksError("TARGET_INVALID", `compound target invalid: ${reason}`, { isRefused: false });
}

/** The error for an expression that Salt accepts and that exceeds one of our bounds. */
function overLimit(reason: string): SaltworksError {
  return new SaltworksError("TARGET_INVALID", `target refused: ${reason}`, { isRefused: true });
}

/** Reads typed terms by Salt's letters. Any other `X@...` is a glob. One character before the `@` of G, P, I and J is a delimiter. */
function parseTerm(text: string, isPillarExact: boolean): Term {
  const typed = /^(?:([GPIJ])(.)|([GPIJLNSER]))@(.+)$/u.exec(text);
  if (typed === null) return globTerm(text);
  const letter = typed[1] ?? typed[3] ?? "";
  const delimiter = typed[2] ?? ":";
  const pattern = typed[4] ?? "";
  if (letter === "R") throw refused("range");
  if (letter === "N") throw refused("nodegroup");
  if (letter === "L") return listTerm(listNames(pattern));
  if (letter === "E") return pcreTerm(pattern);
  return orNothing(() => {
    if (letter === "S") return ipTerm(pattern);
    if (letter === "G") return nestedTerm("grains", pattern, delimiter, "glob");
    if (letter === "P") return nestedTerm("grains", pattern, delimiter, "pcre");
    if (isPillarExact) return nestedTerm("pillar", pattern, delimiter, "exact");
    return nestedTerm("pillar", pattern, delimiter, letter === "I" ? "glob" : "pcre");
  });
}

/** As in Salt, a compound's term with an invalid value is false. A term that we refuse still makes the target fail. */
function orNothing(parse: () => Term): Term {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SaltworksError && error.detail.isRefused === false) return { kind: "nothing" };
    throw error;
  }
}

export function refused(kind: "range" | "nodegroup"): SaltworksError {
  const reason =
    kind === "range" ? "range targets need a range server" : "nodegroups are expanded before a job is sent";
  return new SaltworksError("TARGET_INVALID", `${kind} refused: ${reason}`, { isRefused: true, construct: kind });
}

/** As `readTree`, by the minion's rules. */
export function readMinionTree(words: readonly CompoundWord[]): Tree | string {
  return readTree(words, minionRules);
}

/** The tree, or the reason why this side cannot read the words. */
function readTree(words: readonly CompoundWord[], rules: Rules): Tree | string {
  if (words.length === 0) return "empty expression";
  const reader = new TreeReader(words, rules);
  try {
    return reader.read();
  } catch (error) {
    if (error instanceof SyntaxFault) return error.message;
    throw error;
  }
}

/** Thrown and caught within this file. */
class SyntaxFault extends Error {}

class TreeReader {
  readonly #words: readonly CompoundWord[];
  readonly #rules: Rules;
  #at = 0;
  #depth = 0;

  constructor(words: readonly CompoundWord[], rules: Rules) {
    this.#words = words;
    this.#rules = rules;
  }

  read(): Tree {
    const tree = this.#alternatives();
    const rest = this.#words[this.#at];
    if (rest !== undefined) throw new SyntaxFault(rest.kind === "term" ? "two terms without operator" : "unexpected )");
    return tree;
  }

  #nextIs(operator: string): boolean {
    const word = this.#words[this.#at];
    return word?.kind === "operator" && word.text === operator;
  }

  #accept(operator: string): boolean {
    if (!this.#nextIs(operator)) return false;
    this.#at += 1;
    return true;
  }

  #alternatives(): Tree {
    const first = this.#conjunction();
    const items = [first];
    while (this.#accept("or")) items.push(this.#conjunction());
    return items.length === 1 ? first : { kind: "or", items };
  }

  /** `not` straight after an operand stands for `and not`. */
  #conjunction(): Tree {
    const first = this.#negation();
    const items = [first];
    while (this.#accept("and") || this.#nextIs("not")) items.push(this.#negation());
    return items.length === 1 ? first : { kind: "and", items };
  }

  #negation(): Tree {
    if (!this.#accept("not")) return this.#operand();
    if (this.#nextIs("not")) throw new SyntaxFault("not not");
    return { kind: "not", inner: this.#operand() };
  }

  #operand(): Tree {
    if (this.#accept("(")) return this.#parenthesis();
    const word = this.#words[this.#at];
    if (word === undefined) throw new SyntaxFault("it ends with an operator");
    if (word.kind === "operator") throw new SyntaxFault(`unexpected "${word.text}"`);
    this.#at += 1;
    return { kind: "term", term: word.term };
  }

  #parenthesis(): Tree {
    this.#depth += 1;
    if (this.#depth > targetDepthMax) throw overLimit(`more than ${targetDepthMax} parentheses deep`);
    if (this.#rules.allowsEmpty && this.#accept(")")) {
      this.#depth -= 1;
      return { kind: "nothing" };
    }
    const inner = this.#alternatives();
    const isClosed = this.#accept(")") || (this.#rules.closesUnclosed && this.#at === this.#words.length);
    if (!isClosed) throw new SyntaxFault("unclosed (");
    this.#depth -= 1;
    return inner;
  }
}
