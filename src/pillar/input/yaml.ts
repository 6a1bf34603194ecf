/**
 * Reads YAML of pillar files as Salt reads YAML 1.1: keeps the types of keys and numbers, resolves merges (`<<`) and aliases.
 * Source: PyYAML's safe loader with Salt 3007's changes, observed; test/pillar/golden.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
  type Scalar,
} from "yaml";
import { readSaltYaml } from "../../config/yaml/salt-yaml.ts";
import { plainKind, plainValue } from "../../config/yaml/yaml11.ts";
import { SaltworksError } from "../../errors.ts";
import { decodedValuesMax, nestingDepthMax } from "../../limits.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";
import { KeptValues } from "./kept-values.ts";

const tagPrefix = "tag:yaml.org,2002:";
export type Kind = Parameters<typeof plainValue>[0];
const taggedKinds: readonly string[] = ["null", "bool", "int", "float"];

export function yamlFault(message: string, line: number): SaltworksError {
  return new SaltworksError("PILLAR_FAILED", message, { kind: "yaml", line });
}

/** Reads the values of a document's nodes. */
export class Reader {
  readonly #document: Document;
  readonly #counter: LineCounter;
  readonly #source: string;
  #count = 0;
  #depth = 0;

  constructor(document: Document, counter: LineCounter, source: string) {
    this.#document = document;
    this.#counter = counter;
    this.#source = source;
  }

  value(node: unknown): Value {
    this.#count += 1;
    if (this.#count > decodedValuesMax) throw yamlFault("more values than any pillar has", 1);
    if (this.#depth >= nestingDepthMax) throw yamlFault("nested too deep", this.line(node));
    this.#depth += 1;
    const value = this.inner(node);
    this.#depth -= 1;
    return value;
  }

  /** Counts neither the value nor its nesting, unlike `value`. */
  protected inner(node: unknown): Value {
    if (node === null || node === undefined) return null;
    if (isAlias(node)) return this.value(this.#target(node));
    if (isSeq(node)) return node.items.map((item) => this.value(item));
    if (isMap(node)) return this.map(node.items, this.line(node));
    if (isScalar(node)) return this.#scalar(node);
    throw yamlFault("what this node is cannot be told", this.line(node));
  }

  #target(node: Node): Node {
    const target = isAlias(node) ? node.resolve(this.#document) : node;
    if (target === undefined) throw yamlFault("found undefined alias", this.line(node));
    return target;
  }

  protected line(node: unknown): number {
    const range = (node as Node | null)?.range;
    return range ? this.#counter.linePos(range[0]).line : 1;
  }

  #scalar(node: Scalar): Value {
    const name = node.tag?.startsWith(tagPrefix) === true ? node.tag.slice(tagPrefix.length) : undefined;
    const source = node.source ?? "";
    if (name !== undefined && name !== "str") return this.#tagged(node, name, source);
    if (node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED") return this.#block(node);
    if (name === "str" || node.tag === "!" || node.type !== "PLAIN") return String(node.value ?? source);
    return this.plain(plainKind(source), source, node);
  }

  /** If the text ends inside a block scalar without a line break, the scalar does not end with one either. */
  #block(node: Scalar): string {
    const text = String(node.value ?? "");
    const [start = 0, , end = 0] = node.range ?? [];
    if (end < this.#source.length) return text;
    return isLineLast(this.#source.slice(start), text) ? text.replace(/\n$/, "") : text;
  }

  #tagged(node: Scalar, name: string, source: string): Value {
    if (node.value instanceof Uint8Array) return node.value;
    return taggedKinds.includes(name) ? this.plain(name as Kind, source, node) : source;
  }

  protected plain(kind: Kind, source: string, node: Scalar): Value {
    if (kind === "text" || kind === "timestamp") return source;
    const read = plainValue(kind, source);
    if (read === undefined)
      throw yamlFault(`could not determine a constructor for ${JSON.stringify(source)}`, this.line(node));
    return kind === "float" && Number.isInteger(read.value) ? new Float(read.value as number) : read.value;
  }

  /** Puts the pairs that `<<` refers to first, without the keys that the map itself has. */
  protected pairs(items: readonly Pair[]): readonly Pair[] {
    const merges = items.filter(({ key }) => isMergeKey(key));
    if (merges.length === 0) return items;
    const own = items.filter(({ key }) => !isMergeKey(key));
    const ownKeys = new Set(own.map(({ key }) => (isScalar(key) ? key.source : undefined)));
    const merged = merges.flatMap(({ value }) => this.mergedPairs(value));
    return [...merged.filter(({ key }) => !(isScalar(key) && ownKeys.has(key.source))), ...own];
  }

  protected mergedPairs(value: unknown): readonly Pair[] {
    const node = this.#target(value as Node);
    if (isMap(node)) return this.pairs(node.items);
    if (!isSeq(node)) throw yamlFault("expected a mapping or list of mappings for merging", this.line(node));
    return node.items.toReversed().flatMap((item) => {
      const map = this.#target(item as Node);
      if (!isMap(map)) throw yamlFault("expected a mapping for merging", this.line(map));
      return this.pairs(map.items);
    });
  }

  protected map(items: readonly Pair[], line: number): ValueMap {
    const map: ValueMap = new Map();
    const numbers = new Set<number | bigint>();
    for (const { key: keyNode, value } of this.pairs(items)) {
      const key = isPlainEquals(keyNode) ? "=" : this.value(keyNode);
      if (Array.isArray(key) || key instanceof Map)
        throw yamlFault("Invalid YAML, possible double curly-brace", this.line(keyNode));
      // In Python 1, 1.0 and True are the same key.
      const number = key instanceof Float ? key.value : typeof key === "boolean" ? Number(key) : key;
      const isTaken = typeof number === "number" || typeof number === "bigint" ? numbers.has(number) : map.has(key);
      if (isTaken) throw yamlFault(`found conflicting ID '${String(number)}'`, this.line(keyNode) || line);
      if (typeof number === "number" || typeof number === "bigint") numbers.add(number);
      map.set(key, this.value(value));
    }
    return map;
  }
}

/**
 * Whether a last line without a line break belongs to the block. Blanks up to the block's indentation do not. `source`: the text from the
 * block's header (`|`) on. `text`: the block's lines without indentation.
 */
function isLineLast(source: string, text: string): boolean {
  const lastLine = source.slice(1 + Math.max(source.lastIndexOf("\n"), source.lastIndexOf("\r")));
  if (/[^ ]/.test(lastLine)) return true;
  const first = /\n( *)[^ \r\n]/.exec(source);
  // A block of blank lines has only line breaks; the header's line break comes first.
  if (first === null) return !/[\r\n] *[\r\n]/.test(source);
  const [, own = ""] = /^( *)[^ \n]/m.exec(text) ?? [];
  return lastLine.length > (first[1] ?? "").length - own.length;
}

function isPlainOf(node: unknown, text: string): boolean {
  return isScalar(node) && node.type === "PLAIN" && node.source === text && node.tag === undefined;
}
export const isMergeKey = (node: unknown) => isPlainOf(node, "<<");
const isPlainEquals = (node: unknown) => isPlainOf(node, "=");

const kept = new KeptValues();

/** @throws SaltworksError PILLAR_FAILED with `line` in its detail */
export function loadYaml(source: string): Value {
  return kept.get(source, parsed);
}

function parsed(source: string): Value {
  const { document, counter, faults } = readSaltYaml(source);
  const [first] = faults;
  if (first !== undefined) throw yamlFault(first.message, first.line);
  return new Reader(document, counter, source).value(document.contents);
}
