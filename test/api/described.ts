/** Compares answers of the HTTP API with its OpenAPI document: status, type, headers and body. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { parse } from "yaml";

type Media = { readonly schema?: object; readonly "x-item-schema"?: object };
type Header = { readonly $ref: string };
type Described = {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, Media>>;
  readonly headers?: Readonly<Record<string, Header>>;
};
export type Operation = {
  readonly operationId?: string;
  readonly summary?: string;
  readonly security?: readonly object[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Described>>;
};
export type ApiDocument = {
  readonly servers: readonly [{ readonly url: string }];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, Described>>;
    readonly headers: Readonly<Record<string, { readonly required?: boolean; readonly schema: { type?: string } }>>;
  };
};
type Headers = Readonly<Record<string, string | undefined>>;

/** `body`: undefined if it is not to be compared. `headers`: the same, with names in lower case. */
export type AnswerToCheck = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly type: string | undefined;
  readonly body: string | undefined;
  readonly headers?: Headers;
};

/** Of HTTP itself, and what the introduction of the document describes. */
const generalHeaders =
  /^(?:connection|content-length|content-type|date|keep-alive|transfer-encoding|vary|access-control-.*)$/;
const ofUnknownPaths: readonly number[] = [204, 404, 405];
const pointer = (...parts: readonly string[]) =>
  parts.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

export class Description {
  readonly document: ApiDocument;
  readonly #ajv: Ajv2020;
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #prefix: string;
  readonly #routes: readonly { readonly path: string; readonly pattern: RegExp }[];

  constructor(document: ApiDocument) {
    this.document = document;
    this.#ajv = new Ajv2020({ strict: false, validateFormats: true, validateSchema: false });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ ...document, $id: "api" });
    this.#prefix = document.servers[0].url === "/" ? "" : document.servers[0].url;
    const patternOf = (path: string) =>
      path
        .replaceAll(/[.]/g, "\\$&")
        .replaceAll("{path}", ".+")
        .replaceAll(/\{\w+\}/g, "[^/]+");
    // A path without parameters goes first.
    this.#routes = Object.keys(document.paths)
      .sort((a, b) => Number(a.includes("{")) - Number(b.includes("{")))
      .map((path) => ({ path, pattern: new RegExp(`^${patternOf(path)}/?$`) }));
  }

  /** The path of a document that an address belongs to. */
  pathOf(address: string): string | undefined {
    const [path = ""] = address.split("?");
    if (!path.startsWith(this.#prefix)) return undefined;
    const own = path.slice(this.#prefix.length) || "/";
    return this.#routes.find(({ pattern }) => pattern.test(own))?.path;
  }

  /** What an answer has that the document does not say. */
  faultsOf(answer: AnswerToCheck): string[] {
    const { method, path: address, status } = answer;
    const shown = `${method} ${address.slice(0, 100)} ${status}`;
    const path = this.pathOf(address);
    const verb = method === "HEAD" ? "get" : method.toLowerCase();
    const operation = path === undefined ? undefined : this.document.paths[path]?.[verb];
    if (path === undefined || operation === undefined) {
      if (!ofUnknownPaths.includes(status)) return [`${shown}: the path has no such operation`];
      const of = this.document.components.responses[`Error${status}`];
      return this.#faultsOfHeaders(answer, of).map((fault) => `${shown}: ${fault}`);
    }
    const described = operation.responses[String(status)];
    if (described === undefined) return [`${shown}: the status is not in the document`];
    const place =
      described.$ref === undefined
        ? pointer("paths", path, verb, "responses", String(status))
        : described.$ref.slice(1);
    const name = described.$ref?.split("/").at(-1);
    const whole = name === undefined ? described : this.document.components.responses[name];
    const faults = this.#faultsOfHeaders(answer, whole);
    if (method !== "HEAD" && ![101, 204, 303, 304, 308].includes(status))
      faults.push(...this.#faultsOfBody(answer, place, whole?.content ?? {}));
    return faults.map((fault) => `${shown}: ${fault}`);
  }

  /** Headers that are missing, unknown or of another form. */
  #faultsOfHeaders({ headers }: AnswerToCheck, described: Described | undefined): string[] {
    if (headers === undefined) return [];
    const known = new Map(Object.keys(described?.headers ?? {}).map((name) => [name.toLowerCase(), name]));
    const isCacheable = headers["cache-control"] !== "no-store";
    const faults = Object.keys(headers)
      .filter((name) => headers[name] !== undefined && !generalHeaders.test(name) && !known.has(name))
      .filter((name) => name !== "cache-control" || isCacheable)
      .map((name) => `the header ${name} is not in the document`);
    for (const [lower, name] of known) {
      const { required = false, schema = {} } = this.document.components.headers[name] ?? {};
      const value = headers[lower];
      if (value === undefined) faults.push(...(required ? [`the header ${name} is missing`] : []));
      else {
        const read = schema.type === "integer" ? Number(value) : value;
        faults.push(
          ...this.faultsOfValue(read, `/components/headers/${name}/schema`).map((fault) => `${name}${fault}`),
        );
      }
    }
    return faults;
  }

  #faultsOfBody(
    { type = "", body }: AnswerToCheck,
    place: string,
    content: NonNullable<Described["content"]>,
  ): string[] {
    const own = type.split(";")[0]?.trim().toLowerCase() ?? "";
    const found = [own, "*/*"].find((name) => name in content);
    if (found === undefined) return [`the type ${own} is not one of ${Object.keys(content).join(", ")}`];
    if (body === undefined || found === "*/*") return [];
    const at = `${place}${pointer("content", found)}`;
    const check = (value: unknown, member: string) => this.faultsOfValue(value, `${at}/${member}`);
    if (content[found]?.["x-item-schema"] !== undefined)
      return itemsOf(own, body).flatMap((item) => check(item, "x-item-schema"));
    return check(
      own === "application/x-yaml" ? parse(body) : own === "application/json" ? JSON.parse(body) : body,
      "schema",
    );
  }

  /** @param place of the schema in the document, as a JSON pointer */
  faultsOfValue(value: unknown, place: string): string[] {
    const validate = this.#validators.get(place) ?? this.#ajv.compile({ $ref: `api#${encodeURI(place)}` });
    this.#validators.set(place, validate);
    if (validate(value)) return [];
    const [error] = validate.errors ?? [];
    return [`${error?.instancePath} ${error?.message} (${error?.schemaPath}): ${JSON.stringify(value).slice(0, 300)}`];
  }
}

function itemsOf(type: string, body: string): unknown[] {
  const lines = body.split("\n");
  const data = type === "text/event-stream" ? lines.filter((line) => line.startsWith("data: ")) : lines.filter(Boolean);
  return data.map((line) => JSON.parse(line.replace(/^data: /, "")) as unknown);
}
