/** Values as YAML text in block style, maps sorted by key, as Salt writes its files. Unlike Salt's, long lines are never folded. */
import { Document, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { Float, type Value } from "../wire/values.ts";
import { pythonText } from "./modules/python-values.ts";

export function yamlText(value: Value): string {
  const document = new Document(undefined, { version: "1.1" });
  document.contents = nodeOf(value);
  return document.toString({ lineWidth: 0, indentSeq: false, singleQuote: true });
}

function nodeOf(value: Value): YAMLMap | YAMLSeq | Scalar {
  if (value instanceof Map) {
    const map = new YAMLMap();
    const pairs = [...value].sort(([left], [right]) => (pythonText(left) < pythonText(right) ? -1 : 1));
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
  if (!(value instanceof Float)) return new Scalar(value);
  const scalar = new Scalar(value.value);
  scalar.minFractionDigits = 1;
  return scalar;
}
