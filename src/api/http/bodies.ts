/** Reads request bodies: JSON, YAML, forms, and JSON that is sent as text. Source: docs/http-api.md, "Bodies". */
import { parseSaltYaml } from "../../config/yaml/salt-yaml.ts";
import type { ConfigValue } from "../../config/yaml/values.ts";
import { hasCode } from "../../errors.ts";
import {
  apiBodyCollectionsMax,
  apiBodyDepthMax,
  apiBodyNamesMax,
  apiBodyValuesMax,
  apiFormValuesMax,
  apiYamlBodyBytesMax,
} from "../../limits.ts";
import { endOfQuoted, loadJson } from "../../python/json.ts";
import { asValue, type Value, type ValueMap } from "../../wire/values.ts";
import { ApiError } from "./errors.ts";

export type SentBody = { readonly type: string | undefined; readonly bytes: Buffer | undefined };

const tooMany = () =>
  new ApiError(
    "BODY_TOO_LARGE",
    `A body has at most ${apiBodyValuesMax} values, ${apiBodyCollectionsMax} lists and maps, and ${apiBodyNamesMax} names`,
  );
const tooDeep = () => new ApiError("REQUEST_UNREADABLE", `The body is nested more than ${apiBodyDepthMax} levels deep`);

/** Counts brackets and commas outside of texts before a parser recurses or builds. Takes linear time. */
function checkBrackets(text: string): void {
  const token = /["[\]{},:]/g;
  let depth = 0;
  let collections = 0;
  let commas = 0;
  let names = 0;
  let hasQuotes = true;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [sign] = found;
    if (sign === '"') {
      const end = hasQuotes ? endOfQuoted(text, found.index) : undefined;
      if (end === undefined) hasQuotes = false;
      else token.lastIndex = end;
    } else if (sign === ",") commas += 1;
    else if (sign === ":") names += 1;
    else if (sign === "[" || sign === "{") {
      depth += 1;
      collections += 1;
    } else depth -= 1;
    if (depth > apiBodyDepthMax) throw tooDeep();
    const isLarge =
      commas + collections > apiBodyValuesMax || collections > apiBodyCollectionsMax || names > apiBodyNamesMax;
    if (isLarge) throw tooMany();
  }
}

function checkBlocks(text: string): void {
  for (const [start] of text.matchAll(/^(?:[ ]*[-?:] )+|^ +/gm))
    if (start.length > 8 * apiBodyDepthMax) throw tooDeep();
}

function readJson(text: string): Value {
  checkBrackets(text);
  try {
    return loadJson(text) as Value;
  } catch (error) {
    if (hasCode(error, "PYTHON_RAISED")) throw new ApiError("REQUEST_UNREADABLE", "Invalid JSON document");
    throw error;
  }
}

/** @throws ApiError 400, 413 */
export function readYaml(text: string): Value {
  if (Buffer.byteLength(text) > apiYamlBodyBytesMax)
    throw new ApiError("BODY_TOO_LARGE", `A body in YAML has at most ${apiYamlBodyBytesMax} bytes; JSON may be larger`);
  checkBrackets(text);
  checkBlocks(text);
  let read: ReturnType<typeof parseSaltYaml>;
  try {
    read = parseSaltYaml(text);
  } catch (error) {
    // The parser's stack ended: the body is nested by other means than brackets and indentation.
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
  if ("faults" in read) throw new ApiError("REQUEST_UNREADABLE", "Invalid YAML document");
  return asValue(read.value as Exclude<ConfigValue, undefined>);
}

/** One command: a repeated name becomes a list; `arg` is always a list of YAML values. @throws ApiError 400, 413 */
function readForm(text: string): ValueMap {
  const byName = new Map<string, string[]>();
  let count = 0;
  for (const [name, value] of new URLSearchParams(text)) {
    count += 1;
    if (count > apiFormValuesMax)
      throw new ApiError("REQUEST_UNREADABLE", `A form has at most ${apiFormValuesMax} values`);
    const values = byName.get(name);
    if (values === undefined) byName.set(name, [value]);
    else values.push(value);
  }
  const kwarg = byName.get("kwarg")?.[0] ?? "";
  const yamlBytes = [...(byName.get("arg") ?? []), kwarg].reduce((sum, value) => sum + Buffer.byteLength(value), 0);
  if (yamlBytes > apiYamlBodyBytesMax)
    throw new ApiError(
      "BODY_TOO_LARGE",
      `'arg' and 'kwarg' of a form have at most ${apiYamlBodyBytesMax} bytes together; JSON may be larger`,
    );
  const form: ValueMap = new Map();
  for (const [name, values] of byName) {
    if (name === "arg") form.set(name, values.map(readYaml));
    else if (name === "kwarg") form.set(name, readYaml(kwarg));
    else form.set(name, values.length === 1 ? (values[0] ?? "") : values);
  }
  return form;
}

/** Undefined for a request without a body. @throws ApiError 400, 406, 413 */
export function readBody({ type, bytes }: SentBody): Value | undefined {
  if (bytes === undefined || bytes.byteLength === 0) return undefined;
  const text = bytes.toString();
  switch (type?.split(";")[0]?.trim().toLowerCase()) {
    case "application/json":
      return readJson(text);
    case "application/x-yaml":
    case "text/yaml":
      return readYaml(text);
    case "application/x-www-form-urlencoded":
      return readForm(text);
    case "text/plain":
      return readJsonOrText(text);
    default:
      throw new ApiError("BODY_TYPE_UNKNOWN", "Content type not supported");
  }
}

function readJsonOrText(text: string): Value {
  try {
    return readJson(text);
  } catch (error) {
    if (error instanceof ApiError && error.message.startsWith("Invalid")) return text;
    throw error;
  }
}
