/**
 * Checks a value from YAML against its option, and converts it to the option's form.
 */
import type { Option, OptionKind } from "./options/option.ts";
import { type ConfigValue, isConfigMap } from "./yaml/values.ts";

export type Checked = { readonly value: unknown } | { readonly fault: string };

const kindNames: Record<OptionKind, string> = {
  text: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  list: "a list",
  map: "a map",
  textOrList: "text or a list",
  listOrMap: "a map or a list of maps",
  any: "anything",
};

/** The values that the option allows, for messages and the documentation. */
export function allowedText(option: Option<unknown>): string {
  if (option.choices) return `one of ${option.choices.join(", ")}`;
  const { min, max } = option;
  const range = min === undefined && max === undefined ? "" : ` from ${min ?? "-∞"} to ${max ?? "∞"}`;
  return `${kindNames[option.kind]}${range}${option.unit ? ` (${option.unit})` : ""}`;
}

/** A YAML value for an error message, at most 60 characters. */
function shown(value: ConfigValue): string {
  const plain = JSON.stringify(value, (_, member) => (typeof member === "bigint" ? `${member}` : member));
  return plain.length > 60 ? `${plain.slice(0, 57)}...` : plain;
}

/** Numbers in quotes count as numbers, as in Salt. */
function asNumber(value: ConfigValue): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !/^\s*[-+]?(?:\d+\.?\d*|\.\d+)\s*$/.test(value)) return undefined;
  return Number(value);
}

/** Text may also be written as a number: `id: 7`, `log_fmt: 5`. */
function asText(value: ConfigValue): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" ? String(value) : undefined;
}

function inKind(value: ConfigValue, kind: OptionKind): unknown {
  switch (kind) {
    case "text":
      return asText(value);
    case "integer": {
      const numeric = asNumber(value);
      return Number.isSafeInteger(numeric) ? numeric : undefined;
    }
    case "number":
      return asNumber(value);
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "list":
      return Array.isArray(value) ? value : undefined;
    case "map":
      return isConfigMap(value) ? value : undefined;
    case "textOrList":
      return Array.isArray(value) ? value : asText(value);
    case "listOrMap":
      return Array.isArray(value) || isConfigMap(value) ? value : undefined;
    case "any":
      return value;
    default: {
      const never: never = kind;
      return never;
    }
  }
}

/** Checks one value. Null means the default, unless the option is nullable. */
export function checkValue(option: Option<unknown>, given: ConfigValue): Checked {
  if (given === null) return { value: option.isNullable ? null : option.default };
  if (option.asDefault?.includes(given) === true) return { value: option.default };
  const value = inKind(given, option.kind);
  const wrong = { fault: `${option.isSecret ? "the value (not shown)" : shown(given)} is not ${allowedText(option)}` };
  if (value === undefined) return wrong;
  if (option.choices) {
    const word = typeof value === "string" ? value.toLowerCase() : value;
    const match = option.choices.find(
      (allowed) => (typeof allowed === "string" ? allowed.toLowerCase() : allowed) === word,
    );
    return match === undefined ? wrong : { value: match };
  }
  const entriesFault = Array.isArray(value) ? option.entriesFault?.(value) : undefined;
  if (entriesFault !== undefined) return { fault: entriesFault };
  if (typeof value === "number" && !(value >= (option.min ?? -Infinity) && value <= (option.max ?? Infinity)))
    return wrong;
  return { value };
}
