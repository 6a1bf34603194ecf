/** Elasticsearch as its REST API has it: finds a server that answers, makes an index with its alias, stores a document. */
import { readFile } from "node:fs/promises";
import { strOf } from "../../../python/repr.ts";
import type { Value } from "../../../wire/values.ts";
import { returnerError } from "../contract/errors.ts";
import type { Passing } from "../contract/returner.ts";
import type { Options } from "../contract/settings.ts";
import { isGood, refusalBy, send, sendOrFail, type WebAnswer } from "./request.ts";

/** Options of a connection, with Salt's names and defaults. */
export const elasticOptions = {
  ...{ host: undefined, hosts: undefined, username: undefined, password: undefined, timeout: 10, proxies: undefined },
  ...{ use_ssl: false, verify_certs: true, ca_certs: undefined },
};

export type ElasticIndex = { readonly name: string; readonly shards: number; readonly replicas: number };

/** Errors of an index that another minion made meanwhile: since release 6, and before. */
const existsAlready = /"type"\s*:\s*"(?:resource|index)_already_exists_exception"/;
/** From these releases on, addresses of documents have no type of Salt's. */
const typelessSince = { elasticsearch: 8, opensearch: 2 } as const;
const defaultPort = "9200";

type Access = {
  readonly headers: { readonly [name: string]: string };
  readonly isVerified: boolean;
  readonly ca?: string;
  readonly signal: AbortSignal;
};
/** Without a slash at its end. */
type Address = { readonly url: string; readonly login?: string };

export class ElasticServer {
  readonly #address: Address;
  readonly #access: Access;
  readonly #hasTypes: boolean;

  private constructor(address: Address, access: Access, hasTypes: boolean) {
    this.#address = address;
    this.#access = access;
    this.#hasTypes = hasTypes;
  }

  /** The first server of the list that answers. @throws SaltworksError RETURNER_FAILED with the reason of each */
  static async find(options: Options, { log, signal }: Pick<Passing, "log" | "signal">): Promise<ElasticServer> {
    if (options.has("proxies")) throw returnerError("elasticsearch.proxies is not built");
    const access = await accessOf(options, signal);
    const reasons: string[] = [];
    for (const address of addressesOf(options)) {
      try {
        const { body } = await sendOrFail({ method: "GET", url: `${address.url}/`, ...withLogin(access, address) });
        return new ElasticServer(address, access, hasTypes(body));
      } catch (error) {
        const reason = `${new URL(address.url).host}: ${(error as Error).message}`;
        log.warn(`a server of Elasticsearch is passed over: ${reason}`);
        reasons.push(reason);
      }
    }
    throw returnerError(reasons.join("; "));
  }

  /** Makes the index NAME-v1 with the alias NAME, unless there is an index or an alias of this name. */
  async ensureIndex({ name, shards, replicas }: ElasticIndex): Promise<void> {
    const { status, body } = await this.#ask("HEAD", [name]);
    if (status === 200) return;
    if (status !== 404) throw refusalBy(this.#address.url, { status, body });
    const settings = { settings: { number_of_shards: shards, number_of_replicas: replicas } };
    const made = await this.#ask("PUT", [`${name}-v1`], JSON.stringify(settings));
    if (!isGood(made) && !existsAlready.test(made.body)) throw refusalBy(this.#address.url, made);
    await this.#demand("PUT", [`${name}-v1`, "_alias", name]);
  }

  async store(index: string, type: string, document: string): Promise<void> {
    await this.#demand("POST", [index, this.#hasTypes ? type : "_doc"], document);
  }

  async #demand(method: "PUT" | "POST", path: readonly string[], body?: string): Promise<void> {
    const answer = await this.#ask(method, path, body);
    if (!isGood(answer)) throw refusalBy(this.#address.url, answer);
  }

  async #ask(method: "HEAD" | "PUT" | "POST", path: readonly string[], body?: string): Promise<WebAnswer> {
    const url = `${this.#address.url}/${path.map(encodeURIComponent).join("/")}`;
    const access = withLogin(this.#access, this.#address);
    return await send({ method, url, ...access, ...(body === undefined ? {} : { body }) });
  }
}

/** A server that does not say its release is taken for one that Salt knows. */
function hasTypes(answer: string): boolean {
  const version = /"number"\s*:\s*"(\d+)\./.exec(answer)?.[1];
  const product = /"distribution"\s*:\s*"opensearch"/.test(answer) ? "opensearch" : "elasticsearch";
  return version === undefined || Number(version) < typelessSince[product];
}

async function accessOf(options: Options, signal: AbortSignal): Promise<Access> {
  const [user, password, file] = [options.text("username"), options.text("password"), options.text("ca_certs")];
  const seconds = Number(options.demand("timeout"));
  if (!(seconds > 0)) throw returnerError("elasticsearch.timeout is not a number of seconds");
  const login = user === undefined || password === undefined ? {} : { authorization: basic(`${user}:${password}`) };
  return {
    headers: { "content-type": "application/json", ...login },
    isVerified: options.isOn("verify_certs"),
    ...(file === undefined ? {} : { ca: await readFile(file, "utf8") }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)]),
  };
}

function withLogin(access: Access, { login }: Address): Access {
  return login === undefined ? access : { ...access, headers: { ...access.headers, authorization: basic(login) } };
}

function basic(login: string): string {
  return `Basic ${Buffer.from(login).toString("base64")}`;
}

/** `host` wins over `hosts`. Each is a text or a list: `HOST`, `HOST:PORT` or an address with scheme, login and path. */
function addressesOf(options: Options): Address[] {
  const given = options.has("host") ? options.value("host") : options.value("hosts");
  const listed: readonly Value[] = Array.isArray(given) ? given : given === null ? ["127.0.0.1"] : [given];
  const scheme = options.isOn("use_ssl") ? "https" : "http";
  return listed.map((host) => addressOf(strOf(host), scheme));
}

function addressOf(text: string, scheme: "http" | "https"): Address {
  const written = text.includes("://") ? text : `${scheme}://${text}`;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url === undefined) throw returnerError(`elasticsearch.hosts: ${text} is not the address of a server`);
  // `URL.port` leaves out the scheme's own port, even if it is written.
  const authority = /^\w+:\/\/([^/]*)/.exec(written)?.[1] ?? "";
  const port = /:(\d+)$/.exec(authority)?.[1] ?? (text.startsWith("https://") ? "443" : defaultPort);
  const place = `${url.protocol}//${url.hostname}:${port}${url.pathname.replace(/\/$/, "")}`;
  if (url.username === "") return { url: place };
  return { url: place, login: decodeURIComponent(`${url.username}:${url.password}`) };
}
