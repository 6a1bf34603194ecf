/** Values as YAML text in block style, maps sorted by key, as Salt writes its files. Unlike Salt's, long lines are never folded. */

import { Document, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { plainKind } from "../config/yaml/yaml11.ts";
import { strOf } from "../python/repr.ts";
import { Float, type Value } from "../wire/values.ts";

export function yamlText(value: Value): string {
  const document = new Document(undefined, { schema: "core", customTags: ["binary"] });
  document.contents = nodeOf(value);
  return document.toString({ lineWidth: 0, indentSeq: false, singleQuote: true });
}

function nodeOf(value: Value): YAMLMap | YAMLSeq | Scalar {
  if (value instanceof Map) {
    const map = new YAMLMap();
    const pairs = [...value].sort(([left], [right]) => (strOf(left) < strOf(right) ? -1 : 1));
    map.items = pairs.map(([key, member]) => new Pair(nodeOf(key), nodeOf(member)));
    map.flow = pairs.length === 0;
    return map;
  }
  if (Array.isArray(value)) {
    const list = new YAMLSeq();
    list.items = value.map(nodeOf);
    list.flow = value.length === 0;
    return list;
  }
  if (typeof value === "string") return textNode(value);
  if (!(value instanceof Float)) return new Scalar(value);
  const scalar = new Scalar(value.value);
  scalar.minFractionDigits = 1;
  return scalar;
}

/** Quoted where Salt would read something else: its YAML takes `on` for true and `y` for text. */
function textNode(text: string): Scalar {
  const scalar = new Scalar(text);
  if (plainKind(text) !== "text") scalar.type = "QUOTE_SINGLE";
  return scalar;
}
