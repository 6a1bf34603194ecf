/**
 * Nodegroups written out: what `-N group` means, and each `N@group` within a compound. One expander for command line, master and top files.
 * Source: docs/protocol.md section 12.3, the form that Salt has had since 3001: words joined by single blanks, inner groups in parentheses.
 */
import { SaltworksError } from "../errors.ts";
import { targetDepthMax, targetTermsMax } from "../limits.ts";

/** By name: a compound as text, or a list of its words or of minion ids. */
export type Nodegroups = ReadonlyMap<string, string | readonly string[]>;

/** The option `nodegroups` as it is configured; entries that are neither text nor list are kept as nothing, which expands to nobody. */
export function readNodegroups(configured: unknown): Nodegroups {
  if (typeof configured !== "object" || configured === null || Array.isArray(configured)) return new Map();
  return new Map(
    Object.entries(configured).map(([name, value]) => [
      name,
      typeof value === "string" ? value : Array.isArray(value) ? value.map(String) : [],
    ]),
  );
}

/** The words of a target, which are parted by white space. */
export function wordsOf(expression: string | readonly string[]): readonly string[] {
  return typeof expression === "string" ? expression.split(/\s+/).filter((word) => word !== "") : expression;
}

/**
 * What is published for a target: nodegroups and lists of words become the text of a compound; every other target stays as it is.
 *
 * @throws SaltworksError TARGET_INVALID: `detail.group` names a group that is not defined, is part of itself or grows too large; `detail.isUndefined` tells the
 *   first of these where the target itself names the group
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
/** As in a compound: letters of typed terms, some with a delimiter behind. */
const typedTerm = /^(?:[A-Z]|[GPIJ].)@/u;

function isGroup(word: string): boolean {
  return word.startsWith("N@") && word.length > 2;
}

/** One target's groups, each written out once: a group that is named a thousand times costs as much as one. */
class Expansion {
  readonly #groups: Nodegroups;
  readonly #inner = new Map<string, readonly string[]>();
  readonly #within: string[] = [];

  constructor(groups: Nodegroups) {
    this.#groups = groups;
  }

  /** A group as the whole target, or as a word of one. */
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

/** A group of bare ids is one list, or one regular expression where a member has a sign of such. An empty one is `L@`, a word that is nobody. */
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
