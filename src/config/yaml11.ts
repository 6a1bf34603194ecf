/**
 * Which type a plain YAML 1.1 scalar has, as PyYAML resolves it (which is not quite what YAML 1.1 says: `y` and `n` are text).
 * Source: https://yaml.org/type/, and PyYAML's behaviour, recorded in test/golden/yamlify.json.
 */

export type PlainKind = "null" | "bool" | "int" | "float" | "timestamp" | "merge" | "value" | "text";

const patterns: readonly (readonly [PlainKind, RegExp])[] = [
  ["null", /^(?:~|null|Null|NULL|)$/],
  ["bool", /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/],
  ["int", /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$/],
  [
    "float",
    /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|\.(?:inf|Inf|INF))$/,
  ],
  ["float", /^\.(?:[0-9][0-9_]*(?:[eE][-+][0-9]+)?|nan|NaN|NAN)$/],
  ["timestamp", /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/],
  [
    "timestamp",
    /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?$/,
  ],
  ["merge", /^<<$/],
  ["value", /^=$/],
];

/** The type of a scalar that is written without quotes and without a tag. */
export function plainKind(text: string): PlainKind {
  return patterns.find(([, pattern]) => pattern.test(text))?.[0] ?? "text";
}
