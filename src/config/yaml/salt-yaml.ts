/**
 * Reads YAML as Salt does: YAML 1.1 by PyYAML's patterns, with Salt's exceptions (`0644` is the decimal 644, dates stay text, repeated
 * keys are errors). Source: observed on Salt 3007, recorded in test/config/golden/yaml.json.
 */

import { type Document, isMap, isScalar, isSeq, LineCounter, type ScalarTag, type Tags, visit } from "yaml";
import { configAliasesMax } from "../../limits.ts";
import { parseYamlDocument } from "./parser.ts";
import type { ConfigValue } from "./values.ts";
import { plainPatterns, plainValue } from "./yaml11.ts";

const tagPrefix = "tag:yaml.org,2002:";

/** Tags for plain scalars other than text. Dates stay text. `=`, and `<<` outside a map's keys, are refused. */
const scalarTags: ScalarTag[] = plainPatterns
  .filter(([kind]) => kind !== "timestamp" && kind !== "merge")
  .map(([kind, test]) => ({
    default: true,
    tag: tagPrefix + kind,
    test,
    resolve: (source, onError) => {
      const read = plainValue(kind, source);
      if (read === undefined) onError(`${JSON.stringify(source)} is not of the kind ${kind}`);
      return read?.value;
    },
  }));

const binaryTag: ScalarTag = {
  default: false,
  tag: `${tagPrefix}binary`,
  resolve: (source: string) => Buffer.from(source, "base64"),
};

export type YamlFault = { readonly line: number; readonly message: string };
/** The result for a whole text: its faults, or its value with the line (1-based) of each top-level key. */
export type YamlText =
  | { readonly faults: readonly YamlFault[] }
  | { readonly value: ConfigValue; readonly lines: ReadonlyMap<string, number> };

function keyLines(document: Document, counter: LineCounter): Map<string, number> {
  const lines = new Map<string, number>();
  if (!isMap(document.contents)) return lines;
  for (const { key } of document.contents.items) {
    if (isScalar(key) && key.range) lines.set(String(key.value), counter.linePos(key.range[0]).line);
  }
  return lines;
}

/**
 * Finds nodes that parse but have no value: a map or list as a key (unquoted `{{ jinja }}`), an alias without an anchor or within its own anchor,
 * more aliases than `configAliasesMax`. Takes linear time, unlike the package's own search for each alias.
 */
function meaninglessNodes(document: Document, counter: LineCounter): YamlFault[] {
  const faults: YamlFault[] = [];
  const anchors = new Set<string>();
  let aliases = 0;
  const lineOf = (range: readonly number[] | null | undefined) => counter.linePos(range?.[0] ?? 0).line;
  visit(document, {
    Pair(_, { key }) {
      if (isMap(key) || isSeq(key)) faults.push({ line: lineOf(key.range), message: "A map or list cannot be a key" });
    },
    Value(_, { anchor }) {
      if (anchor !== undefined) anchors.add(anchor);
    },
    Alias(_, { source, range }, path) {
      aliases += 1;
      const line = lineOf(range);
      if (!anchors.has(source)) faults.push({ line, message: `No anchor is named ${source}` });
      else if (path.some((node) => "anchor" in node && node.anchor === source))
        faults.push({ line, message: `${source} holds itself` });
      else if (aliases === configAliasesMax + 1) faults.push({ line, message: "Aliases expand to too many values" });
    },
  });
  return faults;
}

/** Keys that a map has twice. The package compares each key with all before it. */
function repeatedKeys(document: Document, counter: LineCounter, source: string): YamlFault[] {
  const faults: YamlFault[] = [];
  visit(document, {
    Map(_, { items }) {
      const known = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (known.has(key.value)) {
          const start = key.range?.[0] ?? 0;
          const { line } = counter.linePos(start);
          faults.push({ line, message: `${/^[^:\n]*/.exec(source.slice(start, start + 200))} is repeated here` });
        } else known.add(key.value);
      }
    },
  });
  return faults;
}

export type YamlDocument = {
  readonly document: Document;
  readonly counter: LineCounter;
  readonly faults: readonly YamlFault[];
};

/** What a dialect of YAML has beyond Salt's: tags of its own, and keys that may repeat. */
export type YamlDialect = { readonly tags: readonly string[]; readonly repeatsKeys: boolean };

/** Parses one document to a tree whose plain scalars have Salt's types. `faults`: syntax errors. */
export function readSaltYaml(source: string, dialect?: YamlDialect): YamlDocument {
  const counter = new LineCounter();
  const document = parseYamlDocument(source, {
    version: "1.1",
    schema: "failsafe",
    customTags: (base: Tags): Tags => [...base, ...scalarTags, binaryTag],
    merge: true,
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter: counter,
  });
  // libyaml does not require a space between quotes or brackets and a comment.
  const problems = [...document.errors, ...document.warnings].filter(
    ({ message }) =>
      !message.startsWith("Comments must be separated") &&
      dialect?.tags.some((tag) => message.startsWith(`Unresolved tag: ${tag}`)) !== true,
  );
  const faults = problems.map(({ pos, message }) => ({ line: counter.linePos(pos[0]).line, message }));
  if (dialect?.repeatsKeys !== true) faults.push(...repeatedKeys(document, counter, source));
  faults.sort((a, b) => a.line - b.line);
  if (faults.length === 0) faults.push(...meaninglessNodes(document, counter));
  return { document, counter, faults };
}

/** Reads one document. Keys become text; `<<` merges; unknown tags and repeated keys are faults, as in Salt. */
export function parseSaltYaml(source: string): YamlText {
  const { document, counter, faults } = readSaltYaml(source);
  if (faults.length > 0) return { faults };
  try {
    return { value: document.toJS({ maxAliasCount: configAliasesMax }), lines: keyLines(document, counter) };
  } catch (error) {
    if (error instanceof ReferenceError) return { faults: [{ line: 1, message: "Aliases expand to too many values" }] };
    throw error;
  }
}
