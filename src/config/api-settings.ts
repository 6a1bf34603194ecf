/** Reads the block `rest_cherrypy`: names as Salt's, every fault reported together. Source: docs/http-api.md, "Settings". */
import { SaltworksError } from "../errors.ts";
import { networksFault } from "./options/networks.ts";
import { type ConfigMap, type ConfigValue, isConfigMap } from "./yaml/values.ts";

/** Files of TLS. */
export type ApiTls = { readonly certificate: string; readonly key: string; readonly chain: string | undefined };

export type ApiSettings = {
  readonly port: number;
  readonly host: string;
  /** Undefined with `disable_ssl`. */
  readonly tls: ApiTls | undefined;
  /** Without a final slash; empty for the root. */
  readonly rootPrefix: string;
  readonly hasSessions: boolean;
  readonly app: string | undefined;
  readonly appPath: string;
  readonly favicon: string | undefined;
  readonly staticDirectory: string | undefined;
  readonly staticPath: string;
  readonly webhookPath: string;
  readonly isWebhookOpen: boolean;
  readonly isStatsOpen: boolean;
  readonly isCollectingStats: boolean;
  readonly isStatsDisabled: boolean;
  readonly isExpiring: boolean;
  /** Undefined: the bound of src/limits/api.ts. */
  readonly bodyBytesMax: number | undefined;
  /** "*": every origin, without cookies. */
  readonly corsOrigins: readonly string[];
  /** Addresses that may connect; empty: all. */
  readonly authorizedIps: readonly string[];
  /** Addresses from which a user may log in, by name; undefined: all. */
  readonly loginAddresses: ReadonlyMap<string, readonly string[]> | undefined;
  /** Sentences for the log: names that have no effect here. */
  readonly notes: readonly string[];
};

/** First parts of the paths that this API has itself. */
const ownPaths: ReadonlySet<string> = new Set([
  ..."login logout run token minions jobs keys runner wheel events ws stats dashboard".split(" "),
  ..."favicon.ico openapi.json".split(" "),
]);

/** Reads members of the block and collects faults and the names that were read. */
class BlockReader {
  readonly faults: string[] = [];
  readonly #block: ConfigMap;
  readonly #read = new Set<string>();

  constructor(block: ConfigMap) {
    this.#block = block;
  }

  value(name: string): ConfigValue {
    this.#read.add(name);
    return Object.hasOwn(this.#block, name) ? (this.#block[name] ?? null) : null;
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === null || value === "") return undefined;
    if (typeof value === "string") return value;
    this.faults.push(`${name} must be a text`);
    return undefined;
  }

  flag(name: string, otherwise = false): boolean {
    const value = this.value(name);
    if (value === null) return otherwise;
    if (typeof value === "boolean") return value;
    this.faults.push(`${name} must be true or false`);
    return otherwise;
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.value(name);
    if (value === null) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    this.faults.push(`${name} must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  texts(name: string): readonly string[] {
    const value = this.value(name);
    const items = value === null ? [] : Array.isArray(value) ? value : [value];
    if (items.every((item) => typeof item === "string")) return items;
    this.faults.push(`${name} must be a list of texts`);
    return [];
  }

  /** A path of a URL, with a slash before and none after. */
  path(name: string, otherwise: string): string {
    const path = this.text(name) ?? otherwise;
    if (!/^\/?[\w\-./~]*$/.test(path) || path.includes("..")) this.faults.push(`${name} must be a path of a URL`);
    return `/${path.replace(/^\/+|\/+$/g, "")}`;
  }

  /** A path of requests that no other part of the API answers. */
  placeOf(name: string, otherwise: string): string {
    const path = this.path(name, otherwise);
    const [, first = ""] = path.split("/");
    if (first === "") this.faults.push(`${name} must be a path below the root`);
    else if (ownPaths.has(first)) this.faults.push(`${name}: /${first} is a path of the API itself`);
    return path;
  }

  /** Origins as browsers send them: no other text is ever equal to one. */
  origins(name: string): readonly string[] {
    const origins = this.texts(name);
    for (const origin of origins) {
      const isHttp = /^https?:/.test(origin) && URL.canParse(origin);
      const own = isHttp ? new URL(origin).origin : "https://ops.example.org";
      // Extensions of browsers have schemes of their own.
      if (origin === "*" || (isHttp ? origin === own : /^[a-z][a-z\d+.-]*:\/\/[^/\s]+$/.test(origin))) continue;
      this.faults.push(`${name}: '${origin}' is not an origin such as ${own}`);
    }
    return origins;
  }

  /** Whether the block gives a value for it. */
  has(name: string): boolean {
    return this.value(name) !== null;
  }

  /** Names that have no effect: unknown ones, and those of CherryPy's threads and log files. */
  unread(): string[] {
    return Object.keys(this.#block).filter((name) => !this.#read.has(name));
  }
}

/** Sentences about names that have no effect, by themselves or beside the others. */
function notesOf(reader: BlockReader): string[] {
  const notes = reader.unread().map((name) => `rest_cherrypy: '${name}' has no effect here`);
  const needs = (name: string, needed: string) => {
    if (reader.has(name) && !reader.has(needed))
      notes.push(`rest_cherrypy: '${name}' has no effect without '${needed}'`);
  };
  needs("app_path", "app");
  needs("static_path", "static");
  if (reader.value("disable_ssl") === true)
    for (const name of ["ssl_crt", "ssl_key", "ssl_chain"])
      if (reader.has(name)) notes.push(`rest_cherrypy: '${name}' has no effect with 'disable_ssl'`);
  return notes;
}

function readLoginAddresses(reader: BlockReader): ReadonlyMap<string, readonly string[]> | undefined {
  const rules = reader.value("api_acl");
  if (rules === null) return undefined;
  const users = isConfigMap(rules) ? rules.users : undefined;
  if (!isConfigMap(users)) {
    reader.faults.push("api_acl must have the form {users: {NAME: [ADDRESS]}}");
    return undefined;
  }
  const rulesOf = Object.entries(users).map(([name, written]) => {
    const addresses = Array.isArray(written) ? written : [written];
    const fault = networksFault(addresses.filter((address) => address !== "*"));
    if (fault !== undefined) reader.faults.push(`api_acl: ${name}: ${fault}`);
    return [name, addresses.map(String)] as const;
  });
  return new Map(rulesOf);
}

function readTls(reader: BlockReader): ApiTls | undefined {
  const [certificate, key, chain] = ["ssl_crt", "ssl_key", "ssl_chain"].map((name) => reader.text(name));
  if (reader.flag("disable_ssl")) return undefined;
  if (certificate === undefined || key === undefined) {
    reader.faults.push(
      "ssl_crt and ssl_key are missing; disable_ssl: True does without TLS, for loopback or behind a proxy",
    );
    return undefined;
  }
  return { certificate, key, chain };
}

const bodyBytesLargest = 100 * 1024 * 1024;

/** @throws SaltworksError CONFIG_INVALID with all faults */
export function readApiSettings(block: ConfigMap): ApiSettings {
  const reader = new BlockReader(block);
  const port = reader.integer("port", 0, 65_535);
  if (port === undefined && reader.faults.length === 0) reader.faults.push("port is missing");
  const root = reader.path("root_prefix", "/");
  const authorizedIps = reader.texts("authorized_ips");
  const fault = networksFault(authorizedIps);
  if (fault !== undefined) reader.faults.push(`authorized_ips: ${fault}`);
  const settings = {
    port: port ?? 0,
    host: reader.text("host") ?? "0.0.0.0",
    tls: readTls(reader),
    rootPrefix: root === "/" ? "" : root,
    hasSessions: reader.flag("enable_sessions", true),
    app: reader.text("app"),
    appPath: reader.placeOf("app_path", "/app"),
    favicon: reader.text("favicon"),
    staticDirectory: reader.text("static"),
    staticPath: reader.placeOf("static_path", "/static"),
    webhookPath: reader.placeOf("webhook_url", "/hook"),
    isWebhookOpen: reader.flag("webhook_disable_auth"),
    isStatsOpen: reader.flag("stats_disable_auth"),
    isCollectingStats: reader.flag("collect_stats"),
    isStatsDisabled: reader.flag("stats_disable"),
    isExpiring: reader.flag("expire_responses", true),
    bodyBytesMax: reader.integer("max_request_body_size", 1, bodyBytesLargest),
    corsOrigins: reader.origins("cors_origin"),
    authorizedIps,
    loginAddresses: readLoginAddresses(reader),
  };
  if (settings.app !== undefined && settings.staticDirectory !== undefined && settings.appPath === settings.staticPath)
    reader.faults.push("app_path and static_path are the same path");
  if (reader.faults.length > 0)
    throw new SaltworksError("CONFIG_INVALID", reader.faults.map((text) => `rest_cherrypy: ${text}`).join("\n"));
  return { ...settings, notes: notesOf(reader) };
}

/** The permissions that a login shows: the user's own, those of its groups and of `*`; texts sorted, then maps, without repetitions. */
export function shownPermissions(
  externalAuth: ConfigMap,
  eauth: string,
  user: string,
  groups: readonly string[],
): ConfigValue {
  const users = Object.hasOwn(externalAuth, eauth) ? externalAuth[eauth] : undefined;
  if (!isConfigMap(users)) return {};
  const names = [user, ...groups.map((group) => `${group}%`), "*"];
  const granted = names.flatMap((name) => {
    const list = Object.hasOwn(users, name) ? users[name] : undefined;
    return Array.isArray(list) ? list : [];
  });
  return sortedPermissions(granted);
}

/** An empty list becomes an empty map, as in Salt. */
export function sortedPermissions(granted: readonly ConfigValue[]): ConfigValue {
  const texts = [...new Set(granted.filter((grant) => typeof grant === "string"))].sort();
  const maps = new Map(granted.filter(isConfigMap).map((grant) => [JSON.stringify(grant), grant]));
  const byText = ([left]: readonly [string, ConfigValue], [right]: readonly [string, ConfigValue]) =>
    left < right ? -1 : 1;
  const all = [...texts, ...[...maps].sort(byText).map(([, grant]) => grant)];
  return all.length === 0 ? {} : all;
}
