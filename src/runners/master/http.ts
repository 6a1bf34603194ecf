/** Runner `http`: asks a web server. Source: Salt 3007's runner of this name, observed. What is rare about a request runs in the site's own Python. */
import { saltReleaseFollowed } from "../../config/host/program.ts";
import { parseSaltYaml } from "../../config/yaml/salt-yaml.ts";
import { SaltworksError } from "../../errors.ts";
import { httpQueryBytesMax, httpQueryMsMax } from "../../limits.ts";
import { loadJson } from "../../python/json.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import { asValue, type Encodable, type Value, type ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { type HttpAnswer, requestHttp } from "./http-request.ts";

/** Arguments of Salt's function that are built here. */
const built = [
  ...["url!", "output", "method", "params", "data", "header_dict", "header_list", "username", "password", "auth"],
  ...[
    "decode",
    "decode_type",
    "status",
    "headers",
    "text",
    "test",
    "test_url",
    "node",
    "port",
    "verify_ssl",
    "ca_bundle",
  ],
  ...["agent", "hide_fields", "raise_error", "decode_body"],
];
const connectTimeoutSeconds = 20;
/** Arguments that only Salt has. */
const ofPython = [
  ...["data_file", "header_file", "cookies", "cookie_jar", "cookie_format", "persist_session", "session_cookie_jar"],
  ...["data_render", "data_renderer", "header_render", "header_renderer", "template_dict", "opts", "backend", "cert"],
  ...[
    "text_out",
    "headers_out",
    "decode_out",
    "stream",
    "handle",
    "formdata",
    "formdata_fieldname",
    "formdata_filename",
  ],
];
/** As Salt shows them. */
const decodeTypes = "('json', 'xml', 'yaml', 'plain')";

function wrong(text: string): SaltworksError {
  return new SaltworksError("FUNCTION_FAILED", text, { name: "http.query" });
}

function isOfPython(args: ValueMap): boolean {
  return ofPython.some((name) => isTrue(args.get(name) ?? null)) || args.get("decode_type") === "xml";
}

async function query({ config }: RunnerContext, args: ValueMap): Promise<Encodable> {
  const rare = ofPython.find((name) => isTrue(args.get(name) ?? null));
  if (rare !== undefined) throw wrong(`${rare} needs a Python with Salt (salt_python)`);
  if (isTrue((config.opts.get("proxy_host") as Value | undefined) ?? null))
    throw wrong("proxy_host is set: backend=requests asks through it, in a Python with Salt (salt_python)");
  const isTest = args.get("test") === true;
  const tested = args.get("test_url") ?? null;
  if (isTest && tested === null) return new Map();
  const answer = await requestHttp({ ...askedOf(config, args), url: urlOf(args) });
  const found = new Map<string, Encodable>(isTest ? [["test", true]] : []);
  if (!("body" in answer)) {
    if (answer.code !== undefined) found.set("status", answer.code);
    else if (args.get("status") === true) found.set("status", 0);
    return found.set("error", answer.text);
  }
  const isDecoded = isTrue(args.get("decode_body") ?? true);
  const isFailed = (answer.code < 200 || answer.code >= 300) && isTrue(args.get("raise_error") ?? true);
  const body = isDecoded ? textOf(answer) : new Uint8Array(answer.body);
  if (isFailed)
    return found.set("status", answer.code).set("error", `HTTP ${answer.code}: ${answer.reason}`).set("body", body);
  found.set("body", body);
  if (args.get("status") === true) found.set("status", answer.code);
  if (args.get("headers") === true) found.set("headers", new Map(answer.headers));
  return withDecoded(found, args, answer, body);
}

function withDecoded(found: Map<string, Encodable>, args: ValueMap, answer: HttpAnswer, body: string | Uint8Array) {
  let isText = args.get("text") === true;
  if (args.get("decode") === true) {
    const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
    const kind = decodeKind(args, answer);
    if (kind === "json") found.set("dict", jsonOf(text));
    else if (kind === "yaml") found.set("dict", yamlOf(text));
    else if (kind === "xml") throw wrong("an answer in XML needs a Python with Salt (salt_python)");
    else if (kind === "plain") isText = true;
    else return found.set("error", `Invalid decode_type specified. Valid decode types are: ${decodeTypes}`);
  }
  return isText ? found.set("text", body) : found;
}

function decodeKind(args: ValueMap, { headers }: HttpAnswer): string {
  const asked = textArgument(args, "decode_type", "auto");
  if (asked !== "auto") return asked;
  const type = headers.get("Content-Type") ?? "application/json";
  return ["xml", "json", "yaml"].find((kind) => type.includes(kind)) ?? "plain";
}

function jsonOf(text: string): Encodable {
  try {
    return loadJson(text) as Encodable;
  } catch (error) {
    throw Object.assign(wrong("the answer is not JSON"), { cause: error });
  }
}

function yamlOf(text: string): Encodable {
  const parsed = parseSaltYaml(text);
  if ("faults" in parsed)
    throw wrong(`the answer is not YAML: ${parsed.faults.map(({ message }) => message).join("; ")}`);
  return asValue(parsed.value as Encodable);
}

/** A text by its `charset`, else UTF-8. */
function textOf({ headers, body }: HttpAnswer): string {
  const type = headers.get("Content-Type") ?? "";
  const charset = /^text\//i.test(type) ? /charset="?([\w.-]+)/i.exec(type)?.[1] : undefined;
  try {
    return new TextDecoder(charset ?? "utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (error) {
    throw Object.assign(wrong(`the answer is not text in ${charset ?? "utf-8"}; decode_body=False gives its bytes`), {
      cause: error,
    });
  }
}

function urlOf(args: ValueMap): URL {
  const written = args.get("test") === true ? args.get("test_url") : args.get("url");
  const text = strOf(written ?? "");
  if (!/^https?:/i.test(text) || !URL.canParse(text)) throw wrong(`Unsupported url scheme: ${text}`);
  const url = new URL(text);
  const params = args.get("params") ?? null;
  // Salt asks the test's address without them.
  if (isTrue(params))
    for (const [name, value] of pairsOf(params))
      url.search += `${url.search === "" ? "" : "&"}${formPair(name, value)}`;
  return url;
}

function pairsOf(params: Value): readonly (readonly [Value, Value])[] {
  if (params instanceof Map) return [...params];
  if (!Array.isArray(params)) throw wrong("'args' parameter should be dict, list or tuple. Not <class 'str'>");
  return params.map((pair) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw wrong("params must be a map, or a list of pairs");
    return pair as [Value, Value];
  });
}

function formOf(data: ValueMap): string {
  return [...data].map(([name, value]) => formPair(name, value)).join("&");
}

/** As Python's `urlencode`. */
function formPair(name: Value, value: Value): string {
  return new URLSearchParams([[strOf(name), strOf(value)]]).toString();
}

function askedOf({ opts }: RunnerContext["config"], args: ValueMap) {
  const data = args.get("data") ?? null;
  const method = textArgument(args, "method", "GET");
  const headers = headersOf(args);
  if (method === "POST" && !hasName(headers, "Content-Type"))
    headers.set("Content-Type", "application/x-www-form-urlencoded");
  const [user, password] = ["username", "password"].map((name) => args.get(name) ?? null);
  const isVerified = isTrue(args.get("verify_ssl") ?? (opts.get("verify_ssl") as Value | undefined) ?? true);
  const bundle = textArgument(args, "ca_bundle");
  return {
    ...{ method, headers, isVerified, bundle: bundle === "" ? undefined : bundle },
    body: data === null ? undefined : data instanceof Map ? formOf(data) : strOf(data),
    login: user === null ? undefined : `${strOf(user ?? "")}:${password === null ? "" : strOf(password ?? "")}`,
    timeoutMs: Math.min(httpQueryMsMax, 1_000 * positiveIn(opts.get("http_request_timeout"), httpQueryMsMax)),
    connectTimeoutMs: Math.min(
      httpQueryMsMax,
      1_000 * positiveIn(opts.get("http_connect_timeout"), connectTimeoutSeconds),
    ),
    bytesMax: Math.min(httpQueryBytesMax, positiveIn(opts.get("http_max_body"), httpQueryBytesMax)),
  };
}

function positiveIn(value: unknown, otherwise: number): number {
  const given = Number(value);
  return given > 0 ? given : otherwise;
}

function headersOf(args: ValueMap): Map<string, string> {
  const agent = textArgument(args, "agent", `Salt/${saltReleaseFollowed.text} http.query()`);
  const given = args.get("header_dict") ?? null;
  const named = given instanceof Map ? [...given].map(([name, value]) => [strOf(name), strOf(value)] as const) : [];
  const listed = args.get("header_list") ?? null;
  const lines = Array.isArray(listed) ? listed.map(strOf) : [];
  const split = lines.flatMap((line) => {
    const [name, value] = line.split(":");
    return name === undefined || value === undefined ? [] : [[name.trim(), value.trim()] as const];
  });
  return new Map([
    ...[...named, ...split].filter(([name]) => name.toLowerCase() !== "user-agent"),
    ["User-Agent", agent],
  ]);
}

function hasName(headers: ReadonlyMap<string, string>, name: string): boolean {
  return [...headers.keys()].some((key) => key.toLowerCase() === name.toLowerCase());
}

export const httpRunner: ReadonlyMap<string, RunnerFunction> = new Map([
  [
    "http.query",
    {
      parameters: parametersOf(...built, ...ofPython),
      takes: "keywords",
      doc: "Asks a web server: url, method, params, data, header_dict, username and password. Shows the body, and with status, headers, text and decode these of the answer.",
      isOffline: true,
      runsInPython: isOfPython,
      run: query,
    },
  ],
]);
