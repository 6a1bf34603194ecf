/** Sources `http_json` and `http_yaml`: the answer of a web server. Source: Salt 3007's modules of these names, observed. */
import type { SaltworksError } from "../../errors.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue, iterate } from "../../python/values.ts";
import type { Value } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";
import { loadYaml } from "../input/yaml.ts";
import { traverse } from "../jinja/filters/data.ts";
import { readJson } from "../jinja/values/json.ts";
import { dataOf } from "../jinja/values/objects.ts";
import type { ExternalSource, SourceArguments, SourceAsked } from "./contract.ts";
import { httpBody } from "./http/request.ts";

/** Python's `urllib.parse.quote`. A value with a part `.` or `..` would name another place of the server, and is refused. */
function quoted(text: string): string {
  if (dotParts(text) > 0) throw leadsElsewhere();
  return encodeURIComponent(text)
    .replaceAll("%2F", "/")
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function leadsElsewhere(): SaltworksError {
  return sourceFault("a value in the address holds '.' or '..', which could lead elsewhere", { isFatal: true });
}

/** Number of parts that a URL's reader removes, with the part before them. */
function dotParts(address: string): number {
  return address.split(/[/\\?#]/).filter((part) => /^(?:\.|%2e){1,2}$/i.test(part)).length;
}

const placeholder = /%s|<.*?>/g;

/**
 * Where the path of an address begins; values before it choose the server. The whole address if it does not begin with a scheme. A URL's reader takes
 * any number of slashes behind the scheme, and backslashes for slashes.
 */
function pathStart(address: string): number {
  const masked = address.replaceAll(placeholder, (found) => "x".repeat(found.length));
  const scheme = /^\s*[a-z][a-z0-9+.-]*:/i.exec(address);
  if (scheme === null) return address.length;
  return (/^[/\\]*[^/\\?#]*/.exec(masked.slice(scheme[0].length))?.[0].length ?? 0) + scheme[0].length;
}

/** The address with values for what `pattern` finds. A value before the path may only have characters that end no host's name. */
function filled(address: string, pattern: RegExp, given: (name: string) => string): string {
  const start = pathStart(address);
  const result = address.replaceAll(pattern, (found, at: number) => {
    const value = given(found);
    if (at < start && !/^[\w.-]+$/.test(value)) throw sourceFault("a value names another server", { isFatal: true });
    return quoted(value);
  });
  // A value without such a part may become one with the text beside it.
  if (dotParts(result) > dotParts(address)) throw leadsElsewhere();
  return result;
}

function addressOf(args: SourceArguments, { id, grains }: Pick<SourceAsked, "id" | "grains">): string {
  const url = filled(strOf(args.get("url") ?? null), /%s/g, () => id);
  if (!isTrue(args.get("with_grains") ?? false)) return url;
  return filled(url, /<.*?>/g, (found) => {
    const name = found.slice(1, -1);
    const value = traverse(grains, name, null, ":");
    if (!isTrue(value)) throw sourceFault(`the minion has no grain ${name}`);
    return strOf(value);
  });
}

function headersOf(args: SourceArguments): Readonly<Record<string, string>> {
  const given = args.get("header_dict") ?? null;
  if (!(given instanceof Map)) return {};
  return Object.fromEntries([...given].map(([name, value]) => [strOf(name), strOf(value)]));
}

function loginOf(args: SourceArguments): string | undefined {
  const [user, password] = ["username", "password"].map((name) => args.get(name) ?? null);
  if (isTrue(user ?? null)) return `${strOf(user ?? null)}:${strOf(password ?? "")}`;
  const pair = args.get("auth") ?? null;
  return isTrue(pair) && typeof pair !== "string" ? iterate(pair).map(strOf).join(":") : undefined;
}

function source(format: "JSON" | "YAML", parameters: readonly string[], load: (text: string) => Value): ExternalSource {
  return {
    parameters,
    requiredCount: 1,
    // A minion that may ask for this source could choose the server.
    isForMinions: false,
    needsGrains: true,
    ask: (args, asked) => {
      const bundle = asked.option("ca_bundle");
      return httpBody({
        url: addressOf(args, asked),
        headers: headersOf(args),
        login: loginOf(args),
        isVerified: isTrue((asked.option("verify_ssl") ?? true) as Value),
        bundle: typeof bundle === "string" ? bundle : undefined,
        signal: asked.signal,
      });
    },
    read: ({ reply, note }, args) => {
      const text = Buffer.from(reply()).toString("utf8");
      let data: Value;
      try {
        data = load(text);
      } catch (error) {
        note(`${format} data of the server failed to parse (${text.length} characters)`);
        throw Object.assign(sourceFault(`${format} data of the server failed to parse`), { cause: error });
      }
      const namespace = args.get("namespace") ?? null;
      return isTrue(namespace) ? new Map([[namespace, data]]) : data;
    },
  };
}

const parameters = ["url", "with_grains", "header_dict", "auth", "username", "password"];

export const httpJson = source("JSON", [...parameters, "namespace"], (text) => dataOf(readJson(text)));
export const httpYaml = source("YAML", parameters, loadYaml);
