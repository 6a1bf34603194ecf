/**
 * YAML as Salt reads it: YAML 1.1 by PyYAML's patterns, with Salt's own turns (`0644` is the decimal 644, dates stay text,
 * a key may not come twice). Source: observed on Salt 3007, recorded in test/config/salt-yaml.json.
 */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type ScalarTag,
  type Tags,
  visit,
} from "yaml";
import type { ConfigMap, ConfigValue } from "./option.ts";

const pattern = {
  null: /^(?:~|null|Null|NULL|)$/,
  boolean: /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
  isTrue: /^(?:yes|true|on)$/i,
  binary: /^[-+]?0b[01_]+$/,
  octal: /^[-+]?0[0-7_]+$/,
  hexadecimal: /^[-+]?0x[0-9a-fA-F_]+$/,
  decimal: /^[-+]?(?:0|[1-9][0-9_]*)$/,
  sexagesimal: /^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+$/,
  float: /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$/,
  sexagesimalFloat: /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*$/,
  infinity: /^[-+]?\.(?:inf|Inf|INF)$/,
  notANumber: /^\.(?:nan|NaN|NAN)$/,
} as const;

/** Digits in base 60, as in `1:30`: the last part may have a fraction. */
function baseSixty(source: string): number {
  const sign = source.startsWith("-") ? -1 : 1;
  const parts = source.replace(/^[-+]/, "").replaceAll("_", "").split(":");
  return sign * parts.reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** A whole number of any size: exact, so that a large one is a bigint. */
function wholeNumber(digits: string, prefix = ""): number | bigint {
  const isNegative = digits.startsWith("-");
  const plain = digits.replace(/^[-+]/, "").replaceAll("_", "");
  const exact = BigInt(prefix + (plain === "" ? "0" : plain)) * (isNegative ? -1n : 1n);
  const value = Number(exact);
  return Number.isSafeInteger(value) ? value : exact;
}

function signedWithoutPrefix(source: string, prefix: string): string {
  return source.replace(prefix, "");
}

function scalar(tag: string, test: RegExp, resolve: (source: string) => unknown): ScalarTag {
  return { default: true, tag: `tag:yaml.org,2002:${tag}`, test, resolve };
}

const scalarTags: ScalarTag[] = [
  scalar("null", pattern.null, () => null),
  scalar("bool", pattern.boolean, (source) => pattern.isTrue.test(source)),
  scalar("int", pattern.binary, (source) => wholeNumber(signedWithoutPrefix(source, "0b"), "0b")),
  scalar("int", pattern.octal, (source) => wholeNumber(source.replace(/^([-+]?)0+/, "$1"))),
  scalar("int", pattern.hexadecimal, (source) => wholeNumber(signedWithoutPrefix(source, "0x"), "0x")),
  scalar("int", pattern.decimal, (source) => wholeNumber(source)),
  scalar("int", pattern.sexagesimal, baseSixty),
  scalar("float", pattern.float, (source) => Number.parseFloat(source.replaceAll("_", ""))),
  scalar("float", pattern.sexagesimalFloat, baseSixty),
  scalar("float", pattern.infinity, (source) => (source.startsWith("-") ? -Infinity : Infinity)),
  scalar("float", pattern.notANumber, () => Number.NaN),
  {
    default: false,
    tag: "tag:yaml.org,2002:binary",
    resolve: (source: string) => Buffer.from(source, "base64"),
  },
];

/** Nested aliases may multiply; a hundred is more than any real file has. */
const aliasCountMax = 100;

export type YamlFault = { readonly line: number; readonly message: string };
/** A whole text: either its faults, or its value with the line (1-based) of each top-level key. */
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

/** What parses but has no value: a map or list as a key (`{{ jinja }}` unquoted), an alias to nothing. */
function meaninglessNodes(document: Document, counter: LineCounter): YamlFault[] {
  const faults: YamlFault[] = [];
  const lineOf = (range: readonly number[] | null | undefined) => counter.linePos(range?.[0] ?? 0).line;
  visit(document, {
    Pair(_, { key }) {
      if (isMap(key) || isSeq(key)) faults.push({ line: lineOf(key.range), message: "A map or list cannot be a key" });
    },
    Alias(_, alias) {
      if (alias.resolve(document) === undefined) {
        faults.push({ line: lineOf(alias.range), message: `No anchor is named ${alias.source}` });
      }
    },
  });
  return faults;
}

/** Reads one document. Keys become text; `<<` merges; unknown tags and repeated keys are faults, as in Salt. */
export function parseSaltYaml(source: string): YamlText {
  const counter = new LineCounter();
  const document = parseDocument(source, {
    version: "1.1",
    schema: "failsafe",
    customTags: (base: Tags): Tags => [...base, ...scalarTags],
    merge: true,
    uniqueKeys: true,
    prettyErrors: false,
    lineCounter: counter,
  });
  const problems = [...document.errors, ...document.warnings];
  const faults = problems.map(({ pos, message }) => ({ line: counter.linePos(pos[0]).line, message }));
  if (faults.length === 0) faults.push(...meaninglessNodes(document, counter));
  if (faults.length > 0) return { faults };
  return { value: document.toJS({ maxAliasCount: aliasCountMax }) as ConfigValue, lines: keyLines(document, counter) };
}

/** Whether a value is a map of keys, neither list nor bytes nor null. */
export function isConfigMap(value: unknown): value is ConfigMap {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
