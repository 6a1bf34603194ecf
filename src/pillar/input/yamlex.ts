/**
 * Reads YAMLEX: YAML in which values of repeated keys merge if `!aggregate` marks them, and `!reset` starts a key anew.
 * Source: Salt 3007's `serializers/yamlex.py`, observed. Dates stay text, as in Salt's other YAML.
 */
import { isScalar, type Node, type Pair } from "yaml";
import { readSaltYaml } from "../../config/yaml/salt-yaml.ts";
import { plainKind } from "../../config/yaml/yaml11.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { aggregated, asAggregate } from "./aggregate.ts";
import { isMergeKey, type Kind, Reader, yamlFault } from "./yaml.ts";

const aggregateTag = "!aggregate";
const resetTag = "!reset";

class YamlexReader extends Reader {
  /** As in Salt, the whole document is an aggregate. */
  root(node: unknown): Value {
    return node === null || node === undefined ? null : asAggregate(this.value(node));
  }

  protected override inner(node: unknown): Value {
    const { tag } = (node ?? {}) as Partial<Node> & { readonly tag?: string };
    if (tag === aggregateTag) return this.#marked(node);
    return tag === resetTag ? this.#resolved(node) : super.inner(node);
  }

  #marked(node: unknown): Value {
    const value = this.#resolved(node);
    return asAggregate(value === null ? [] : value);
  }

  /** As in Salt, a scalar under one of the two tags has the type of its text, even in quotes. */
  #resolved(node: unknown): Value {
    if (isScalar(node) && (node.type === "QUOTE_DOUBLE" || node.type === "QUOTE_SINGLE")) {
      const text = String(node.value);
      return this.plain(plainKind(text), text, node);
    }
    return super.inner(node);
  }

  /** Python's `int()` reads the text, without zeros at its start. It knows neither `0x1F` nor `1:30`. */
  protected override plain(kind: Kind, source: string, node: Parameters<Reader["plain"]>[2]): Value {
    if (kind !== "int") return super.plain(kind, source, node);
    const digits = /^0[bx]/.test(source) ? source : source.replace(/^0+(?=.)/, "");
    if (!/^[-+]?\d+(?:_\d+)*$/.test(digits))
      throw yamlFault(`invalid literal for int() with base 10: '${digits}'`, this.line(node));
    const value = BigInt(digits.replaceAll("_", "").replace(/^\+/, ""));
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  /** Keeps a key that a merged map (`<<`) and the map itself have: the values merge. */
  protected override pairs(items: readonly Pair[]): readonly Pair[] {
    const merges = items.filter(({ key }) => isMergeKey(key));
    const own = items.filter(({ key }) => !isMergeKey(key));
    return [...merges.flatMap(({ value }) => this.mergedPairs(value)), ...own];
  }

  protected override map(items: readonly Pair[]): ValueMap {
    const map: ValueMap = new Map();
    for (const { key: keyNode, value: valueNode } of this.pairs(items)) {
      const { tag } = keyNode as { readonly tag?: string };
      const key = this.#key(keyNode);
      const value = tag === aggregateTag ? this.#marked(valueNode) : this.value(valueNode);
      const isMerged = map.has(key) && tag !== resetTag;
      map.set(key, isMerged ? aggregated(map.get(key) ?? null, value, 0) : value);
    }
    return map;
  }

  #key(node: unknown): Value {
    const key = isScalar(node) && node.tag === aggregateTag ? this.#resolved(node) : this.value(node);
    if (Array.isArray(key) || key instanceof Map) throw yamlFault("found unacceptable key", this.line(node));
    return key;
  }
}

/** @throws SaltworksError PILLAR_FAILED with `line` in its detail */
export function loadYamlex(source: string): Value {
  const { document, counter, faults } = readSaltYaml(source, { tags: [aggregateTag, resetTag], repeatsKeys: true });
  const [first] = faults;
  if (first !== undefined) throw yamlFault(first.message, first.line);
  return new YamlexReader(document, counter, source).root(document.contents);
}
