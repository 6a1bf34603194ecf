/**
 * Expands nodegroups: `-N group`, and each `N@group` within a compound. One expander for command line, master and top files.
 * Source: docs/protocol.md section 12.3, the form that Salt has had since 3001: words joined by single blanks, inner groups in parentheses.
 */
import { SaltworksError } from "../errors.ts";
import { targetDepthMax, targetTermsMax } from "../limits.ts";

/** By name: a compound as text, a list of its words, or a list of minion ids. */
export type Nodegroups = ReadonlyMap<string, string | readonly string[]>;

/** Reads the option `nodegroups`. Entries that are neither text nor list expand to no minion. */
export function readNodegroups(configured: unknown): Nodegroups {
  if (typeof configured !== "object" || configured === null || Array.isArray(configured)) return new Map();
  return new Map(
    Object.entries(configured).map(([name, value]) => [
      name,
      typeof value === "string" ? value : Array.isArray(value) ? value.map(String) : [],
    ]),
  );
}

/** Splits a target at white space. */
export function wordsOf(expression: string | readonly string[]): readonly string[] {
  return typeof expression === "string" ? expression.split(/\s+/).filter((word) => word !== "") : expression;
}

/**
 * Returns the target to publish: nodegroups and lists of words become the text of a compound, other targets stay as they are.
 *
 * @throws SaltworksError TARGET_INVALID: `detail.group` names a group that is not defined, contains itself or grows too large;
 * `detail.isUndefined` marks a group that is not defined and that the target itself names
 */
export function expandTarget(
  kind: string,
  expression: string | readonly string[],
  groups: Nodegroups,
): { readonly kind: string; readonly expression: string | readonly string[] } {
  if (kind === "nodegroup") {
    return { kind: "compound", expression: new Expansion(groups).asked(String(expression)).join(" ") };
  }
  if (kind !== "compound" && kind !== "compound_pillar_exact") return { kind, expression };
  const words = wordsOf(expression);
  if (words.length > targetTermsMax) throw refusal(`more than ${targetTermsMax} words`);
  return { kind, expression: new Expansion(groups).written(words).join(" ") };
}

const operators = new Set(["and", "or", "not", "(", ")"]);
/** Start of a typed term: a letter, for some letters a delimiter, and `@`. */
const typedTerm = /^(?:[A-Z]|[GPIJ].)@/u;

function isGroup(word: string): boolean {
  return word.startsWith("N@") && word.length > 2;
}

/** Expands the groups of one target, each once. */
class Expansion {
  readonly #groups: Nodegroups;
  readonly #inner = new Map<string, readonly string[]>();
  readonly #within: string[] = [];

  constructor(groups: Nodegroups) {
    this.#groups = groups;
  }

  /** Expands a group that is the whole target or one of its words. */
  asked(name: string): readonly string[] {
    const words = this.#wordsOf(name);
    if (words === undefined) {
      throw refusal(`nodegroup "${name}" is not defined`, { group: name, isUndefined: true });
    }
    const asIds = idsOf(words);
    if (!words.some(isGroup)) return asIds ?? words;
    return this.#nested(name, words);
  }

  written(words: readonly string[]): readonly string[] {
    return this.#replaced(words, (name) => this.asked(name));
  }

  #nested(name: string, words: readonly string[]): readonly string[] {
    if (this.#within.includes(name)) {
      throw refusal(`Failed nodegroup expansion: illegal nested nodegroup "${name}"`, { group: name });
    }
    if (this.#within.length >= targetDepthMax) {
      throw refusal(`nodegroup "${name}" is nested more than ${targetDepthMax} deep`, { group: name });
    }
    this.#within.push(name);
    const written = this.#replaced(words, (inner) => this.#innerWords(inner));
    this.#within.pop();
    return written.length === 0 ? [] : ["(", ...written, ")"];
  }

  #innerWords(name: string): readonly string[] {
    const known = this.#inner.get(name);
    if (known !== undefined) return known;
    const words = this.#wordsOf(name);
    if (words === undefined) {
      throw refusal(`Failed nodegroup expansion: unknown nodegroup "${name}"`, { group: name });
    }
    const written = idsOf(words) ?? this.#nested(name, words);
    this.#inner.set(name, written);
    return written;
  }

  #wordsOf(name: string): readonly string[] | undefined {
    const group = this.#groups.get(name);
    return group === undefined ? undefined : wordsOf(group);
  }

  #replaced(words: readonly string[], expand: (name: string) => readonly string[]): string[] {
    const written: string[] = [];
    for (const word of words) {
      if (isGroup(word)) for (const inner of expand(word.slice(2))) written.push(inner);
      else written.push(word);
      if (written.length > targetTermsMax) throw refusal(`nodegroups expand to more than ${targetTermsMax} words`);
    }
    return written;
  }
}

/**
 * A group of bare ids becomes one list, or one regular expression if a member looks like a pattern. An empty
 * group becomes `L@`, which matches no minion.
 */
function idsOf(words: readonly string[]): readonly string[] | undefined {
  if (words.some((word) => operators.has(word))) return undefined;
  if (words.some((word) => word.includes("*") || typedTerm.test(word))) return undefined;
  const letter = words.some((word) => /[([{\\?}\])]/.test(word)) ? "E" : "L";
  return [`${letter}@${words.join(",")}`];
}

function refusal(
  reason: string,
  detail: { readonly group?: string; readonly isUndefined?: true } = {},
): SaltworksError {
  return new SaltworksError("TARGET_INVALID", reason, { isRefused: true, ...detail });
}
