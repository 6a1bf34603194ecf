/** Reads request bodies: JSON, YAML, forms, and JSON that is sent as text. Source: docs/http-api.md, "Bodies". */
import { parseSaltYaml } from "../../config/yaml/salt-yaml.ts";
import type { ConfigValue } from "../../config/yaml/values.ts";
import { hasCode } from "../../errors.ts";
import { apiBodyDepthMax, apiYamlBodyBytesMax } from "../../limits.ts";
import { loadJson } from "../../python/json.ts";
import { asValue, type Value, type ValueMap } from "../../wire/values.ts";
import { ApiError } from "./errors.ts";

export type SentBody = { readonly type: string | undefined; readonly bytes: Buffer | undefined };

const tooDeep = () => new ApiError(400, `The body is nested more than ${apiBodyDepthMax} levels deep`);

/** Counts brackets outside of texts before a parser recurses. */
function checkBrackets(text: string): void {
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    if (depth > apiBodyDepthMax) throw tooDeep();
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
    if (hasCode(error, "PYTHON_RAISED")) throw new ApiError(400, "Invalid JSON document");
    throw error;
  }
}

/** @throws ApiError 400, 413 */
export function readYaml(text: string): Value {
  if (Buffer.byteLength(text) > apiYamlBodyBytesMax)
    throw new ApiError(413, `A body in YAML has at most ${apiYamlBodyBytesMax} bytes; JSON may be larger`);
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
  if ("faults" in read) throw new ApiError(400, "Invalid YAML document");
  return asValue(read.value as Exclude<ConfigValue, undefined>);
}

/** One command: a repeated name becomes a list; `arg` is always a list of YAML values. */
function readForm(text: string): ValueMap {
  const parameters = new URLSearchParams(text);
  const form: ValueMap = new Map();
  for (const name of new Set(parameters.keys())) {
    const values = parameters.getAll(name);
    if (name === "arg") form.set(name, values.map(readYaml));
    else if (name === "kwarg") form.set(name, readYaml(values[0] ?? ""));
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
      throw new ApiError(406, "Content type not supported");
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
