/**
 * Parses one line of YAML 1.1 to a tree: nodes with tags and resolved aliases, without values.
 * Source: https://yaml.org/spec/1.1/ chapters 7 to 9, by the grammar of libyaml.
 */
import { nestingDepthMax, wordValuesMax } from "../../limits.ts";
import { type Mark, type Token, tokensOf, Unreadable } from "./tokens.ts";

/** `tag` is undefined if the form of the text decides the type. */
export type YamlNode =
  | { readonly kind: "scalar"; readonly tag: string | undefined; readonly text: string; readonly isPlain: boolean }
  | { readonly kind: "list"; readonly tag: string | undefined; readonly items: readonly YamlNode[] }
  | { readonly kind: "map"; readonly tag: string | undefined; readonly pairs: readonly YamlPair[] };
export type YamlPair = readonly [key: YamlNode, value: YamlNode];

export const tagPrefix = "tag:yaml.org,2002:";

/** @throws Unreadable */
export function parseYamlLine(line: string): YamlNode {
  return new Parser(tokensOf(line)).document();
}

const empty: YamlNode & { kind: "scalar" } = { kind: "scalar", tag: undefined, text: "", isPlain: true };

type Sized = { readonly node: YamlNode; readonly count: number };

class Parser {
  readonly #tokens: readonly Token[];
  /** Anchored nodes with the number of values of each; undefined while a node is open. */
  readonly #anchors = new Map<string, Sized | undefined>();
  #next = 0;
  #depth = 0;
  #count = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  document(): YamlNode {
    this.#skip("document");
    const node = this.#is("end") ? empty : this.#node(true);
    if (!this.#is("end")) throw new Unreadable();
    return node;
  }

  #is(...kinds: readonly Token["kind"][]): boolean {
    const token = this.#tokens[this.#next];
    return token !== undefined && kinds.includes(token.kind);
  }

  #skip(kind: Mark): boolean {
    if (!this.#is(kind)) return false;
    this.#next += 1;
    return true;
  }

  /** Counts all values, including values that aliases repeat, so that a short word cannot expand to a huge value. */
  #grow(count: number): void {
    this.#count += count;
    if (this.#count > wordValuesMax) throw new Unreadable();
  }

  #node(isBlock: boolean): YamlNode {
    const first = this.#tokens[this.#next];
    if (first?.kind === "alias") return this.#alias(first.name);
    const { anchor, tag } = this.#properties();
    if (anchor !== undefined) {
      if (this.#anchors.has(anchor)) throw new Unreadable();
      this.#anchors.set(anchor, undefined);
    }
    const before = this.#count;
    this.#grow(1);
    this.#depth += 1;
    if (this.#depth > nestingDepthMax) throw new Unreadable();
    const node = this.#content(tag, isBlock, anchor !== undefined || tag !== undefined);
    this.#depth -= 1;
    if (anchor !== undefined) this.#anchors.set(anchor, { node, count: this.#count - before });
    return node;
  }

  #alias(name: string): YamlNode {
    const target = this.#anchors.get(name);
    if (!target) throw new Unreadable();
    this.#next += 1;
    this.#grow(target.count);
    return target.node;
  }

  /** An anchor and a tag, in either order. */
  #properties(): { anchor: string | undefined; tag: string | undefined } {
    let anchor: string | undefined;
    let tag: string | undefined;
    for (;;) {
      const token = this.#tokens[this.#next];
      if (token?.kind === "anchor" && anchor === undefined) anchor = token.name;
      else if (token?.kind === "tag" && tag === undefined) tag = fullTag(token.handle, token.suffix);
      else return { anchor, tag };
      this.#next += 1;
    }
  }

  #content(tag: string | undefined, isBlock: boolean, hasProperties: boolean): YamlNode {
    const token = this.#tokens[this.#next];
    const ownTag = tag === "!" ? undefined : tag;
    if (token?.kind === "scalar") {
      this.#next += 1;
      return { kind: "scalar", tag: ownTag, text: token.text, isPlain: token.isPlain || tag === "!" };
    }
    if (this.#skip("[")) return { kind: "list", tag: ownTag, items: this.#flowItems() };
    if (this.#skip("{")) return { kind: "map", tag: ownTag, pairs: this.#flowPairs() };
    if (isBlock && this.#skip("blockList")) return { kind: "list", tag: ownTag, items: this.#blockItems() };
    if (isBlock && this.#skip("blockMap")) return { kind: "map", tag: ownTag, pairs: this.#blockPairs() };
    if (!hasProperties) throw new Unreadable();
    return { ...empty, tag: ownTag, isPlain: tag === undefined };
  }

  /** A node, or an empty one if one of `ends` follows. */
  #nodeUnless(isBlock: boolean, ...ends: readonly Mark[]): YamlNode {
    return this.#is(...ends) ? empty : this.#node(isBlock);
  }

  #flowItems(): YamlNode[] {
    const items: YamlNode[] = [];
    while (!this.#skip("]")) {
      if (items.length > 0 && !this.#skip(",")) throw new Unreadable();
      if (this.#skip("]")) break;
      items.push(this.#skip("?") ? { kind: "map", tag: undefined, pairs: [this.#listPair()] } : this.#node(false));
    }
    return items;
  }

  /** A pair inside a list. Like libyaml, skips the mark after a `?` without a key, even a `]`. */
  #listPair(): YamlPair {
    if (!this.#is(":", ",", "]")) return this.#flowPair("]");
    this.#next += 1;
    return [empty, this.#flowValue("]")];
  }

  #flowPair(close: "]" | "}"): YamlPair {
    return [this.#nodeUnless(false, ":", ",", close), this.#flowValue(close)];
  }

  #flowValue(close: "]" | "}"): YamlNode {
    return this.#skip(":") ? this.#nodeUnless(false, ",", close) : empty;
  }

  #flowPairs(): YamlPair[] {
    const pairs: YamlPair[] = [];
    while (!this.#skip("}")) {
      if (pairs.length > 0 && !this.#skip(",")) throw new Unreadable();
      if (this.#skip("}")) break;
      pairs.push(this.#skip("?") ? this.#flowPair("}") : [this.#node(false), empty]);
    }
    return pairs;
  }

  #blockItems(): YamlNode[] {
    const items: YamlNode[] = [];
    while (this.#skip("-")) items.push(this.#nodeUnless(true, "-", "blockEnd"));
    if (!this.#skip("blockEnd")) throw new Unreadable();
    return items;
  }

  #blockPairs(): YamlPair[] {
    const pairs: YamlPair[] = [];
    while (this.#skip("?")) {
      const key = this.#nodeUnless(true, "?", ":", "blockEnd");
      pairs.push([key, this.#skip(":") ? this.#nodeUnless(true, "?", ":", "blockEnd") : empty]);
    }
    if (!this.#skip("blockEnd")) throw new Unreadable();
    return pairs;
  }
}

function fullTag(handle: string, suffix: string): string {
  if (handle === "") return suffix;
  if (handle === "!") return handle + suffix;
  if (handle === "!!") return tagPrefix + suffix;
  throw new Unreadable();
}
