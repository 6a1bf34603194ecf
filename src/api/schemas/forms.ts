/** Parts of which the schemas of routes are made: answers in each format, errors, and carriers of credentials. */
import type { HeadersOf } from "./headers.ts";

/** A schema of JSON Schema 2020-12. A reference has no other member: the generator would drop it. */
export type Schema = { readonly [keyword: string]: unknown };
export type Components = Readonly<Record<string, Schema>>;

export type ErrorStatus = keyof typeof errorTexts;

/**
 * What the document says of a route. `x-errors`, `x-headers`, `x-optional-body` and `x-error-page` are for the generator (document.ts) and do not reach
 * the document.
 * Fastify neither validates nor writes anything by these schemas: server.ts says why.
 */
export type RouteSchema = {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly params?: Schema;
  readonly querystring?: Schema;
  readonly headers?: Schema;
  readonly body?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly response: Readonly<Record<number, Answer>>;
  readonly "x-errors": readonly ErrorStatus[];
  /** Of answers without an error. */
  readonly "x-headers"?: HeadersOf;
  readonly "x-optional-body"?: true;
  /** Browsers get errors as pages. */
  readonly "x-error-page"?: true;
};
type Media = { readonly schema: Schema; readonly "x-item-schema"?: Schema };
type Answer = {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
  /** Of an answer without a body. */
  readonly type?: "null";
};

/** When a status is answered. */
export const errorTexts = {
  400: "The request cannot be read, or asks for what does not exist or is not enabled.",
  401: "No session, wrong credentials, or no permission.",
  403: "This address or origin may not use the API.",
  404: "The path, job or file does not exist.",
  405: "The path does not have this method.",
  406: "`Accept` names no format of this answer, or the body's type is unknown. Nothing ran.",
  409: "The job or key is in a state that does not allow this.",
  413: "The body is too large.",
  426: "This path speaks WebSocket only.",
  429: "This user or address has too many requests under way.",
  500: "An unexpected error.",
  501: "A client of Salt that does not exist here.",
  502: "Another service gives no valid answer.",
  503: "The master is away, or a bound of the API is reached.",
  504: "The deadline of the request has passed. What runs goes on.",
} as const;

/** Errors that can meet any request. */
const general: readonly ErrorStatus[] = [400, 403, 406, 429, 500, 503];

export function errors(...more: readonly ErrorStatus[]): readonly ErrorStatus[] {
  return [...general, ...more].sort((a, b) => a - b);
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export function object(properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema {
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

/** An object without other members. */
export function closed(properties: Readonly<Record<string, Schema>>, required = Object.keys(properties)): Schema {
  return { ...object(properties, required), additionalProperties: false };
}

export function mapOf(value: Schema): Schema {
  return { type: "object", additionalProperties: value };
}

export function listOf(items: Schema): Schema {
  return { type: "array", items };
}

export const text: Schema = { type: "string" };
export const texts: Schema = listOf(text);
export const anything: Schema = {};

/** A value in both formats. */
export function answers(description: string, schema: Schema, more: Readonly<Record<string, Media>> = {}): Answer {
  return { description, content: { "application/json": { schema }, "application/x-yaml": { schema }, ...more } };
}

/** Lines of JSON, or events, as they come. OpenAPI 3.1 has no form for the items of a stream: `x-item-schema` is the schema of each. */
export function streamOf(item: Schema): Media {
  return { schema: { type: "string" }, "x-item-schema": item };
}

export const binary: Media = { schema: { type: "string", format: "binary" } };

/** A value in each format of bodies. `form`: the same as a form has it. */
export function bodies(schema: Schema, form: Schema): NonNullable<RouteSchema["body"]> {
  return {
    content: {
      "application/json": { schema },
      "application/x-yaml": { schema },
      "text/yaml": { schema },
      "application/x-www-form-urlencoded": { schema: form },
      // Pages of other programs send JSON so, because a browser then asks no leave of another origin.
      "text/plain": { schema: { type: "string", minLength: 2, contentMediaType: "application/json" } },
    },
  };
}

export const securitySchemes = {
  session: {
    type: "apiKey",
    in: "header",
    name: "X-Auth-Token",
    description: "The session's id from `POST /login`. The header wins over the cookie.",
  },
  sessionCookie: { type: "apiKey", in: "cookie", name: "session_id", description: "The same id as a cookie." },
  sessionQuery: {
    type: "apiKey",
    in: "query",
    name: "token",
    description: "The same id in the address, for streams of clients that set no headers.",
  },
  masterToken: {
    type: "apiKey",
    in: "query",
    name: "salt_token",
    description: "A token of the master from `POST /token`.",
  },
} as const;

export const bySession = [{ session: [] }, { sessionCookie: [] }] as const;
export const byStream = [...bySession, { sessionQuery: [] }, { masterToken: [] }] as const;
/** No credentials, or credentials in the body. */
export const open = [] as const;
