/** Options for the OpenAPI document, which is generated from the schemas of the routes that this API has. */
import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import { apiErrorCodes } from "../http/error-codes.ts";
import { commandComponents } from "./commands.ts";
import { eventComponents } from "./events.ts";
import { type Components, closed, type ErrorStatus, errorTexts, ref, securitySchemes } from "./forms.ts";
import { type HeaderName, type HeadersOf, headerComponents, headerRefs, pageHeaderNames } from "./headers.ts";
import { jobComponents } from "./jobs.ts";
import { minionComponents } from "./minions.ts";
import { sessionComponents } from "./sessions.ts";

const errorComponent: Components = {
  Error: closed({
    status: { type: "integer", minimum: 400, maximum: 599 },
    return: { type: "string", description: "What is wrong, for people." },
    code: { enum: Object.keys(apiErrorCodes), description: "What is wrong, for programs. Codes are never renamed." },
  }),
};

const components: Components = {
  ...errorComponent,
  ...sessionComponents,
  ...commandComponents,
  ...minionComponents,
  ...jobComponents,
  ...eventComponents,
};

const tags = [
  { name: "sessions", description: "Logins and tokens." },
  { name: "commands", description: "Commands for minions, runners and wheel functions." },
  { name: "minions", description: "Minions and their jobs." },
  { name: "jobs", description: "The job cache, and jobs that run." },
  { name: "keys", description: "Keys of minions." },
  { name: "reading", description: "Functions that only read, without job records." },
  { name: "events", description: "The master's events." },
  { name: "pages", description: "What needs no master." },
];

const errorContent = Object.fromEntries(
  ["application/json", "application/x-yaml"].map((type) => [type, { schema: ref("Error") }]),
);
/** Headers of errors besides `Cache-Control`, which any may have. */
const errorHeaders: Partial<Record<ErrorStatus, readonly HeaderName[]>> = {
  405: ["Allow"],
  426: ["Upgrade"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};
const pageOf = (status: ErrorStatus) => ({
  description: errorTexts[status],
  headers: headerRefs([...(errorHeaders[status] ?? []), "Set-Cookie", ...pageHeaderNames]),
  content: { ...errorContent, "text/html": { schema: { type: "string" } } },
});
const errorName = (status: ErrorStatus | string): string => `Error${status}`;
function errorResponses(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(errorTexts).map(([status, description]) => {
      const names = errorHeaders[Number(status) as ErrorStatus] ?? [];
      const headers = headerRefs(["Cache-Control", ...names]);
      return [errorName(status), { description, headers, content: errorContent }];
    }),
  );
}

type Operation = {
  responses: Record<string, object>;
  requestBody?: { required: boolean };
  "x-errors"?: readonly ErrorStatus[];
  "x-headers"?: HeadersOf;
  "x-optional-body"?: boolean;
  "x-error-page"?: boolean;
};

/** Adds errors by reference: written out, they would be most of the document. */
function finish(operation: Operation): void {
  const { "x-errors": statuses = [], "x-optional-body": isOptional, "x-error-page": hasPage } = operation;
  const { "x-headers": headers = {} } = operation;
  delete operation["x-errors"];
  delete operation["x-headers"];
  delete operation["x-error-page"];
  delete operation["x-optional-body"];
  for (const status of statuses)
    operation.responses[status] =
      hasPage === true ? pageOf(status) : { $ref: `#/components/responses/${errorName(status)}` };
  for (const [status, names] of Object.entries(headers))
    operation.responses[status] = { ...operation.responses[status], headers: headerRefs(names) };
  if (isOptional === true && operation.requestBody !== undefined) operation.requestBody.required = false;
}

/** @param prefix before all paths, without a final slash */
export function documentOptions(prefix: string, version: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Saltworks HTTP API",
        version,
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
        description:
          "The HTTP API of a Salt master, with the paths and answers of Salt's `rest_cherrypy`. Errors have one form in every path: Error. Besides the answers of each path, a path that does not exist gets 404, a method that a path does not have 405 with `Allow`, and a request that is not HTTP 400, 408 or 431. `HEAD` is answered as `GET`. With `cors_origin` answers have the headers of CORS, and with `expire_responses` `Cache-Control: no-store`; where an answer depends on headers of the request, `Vary` names them.",
      },
      servers: [{ url: prefix === "" ? "/" : prefix }],
      tags,
      components: {
        securitySchemes,
        schemas: components as never,
        headers: headerComponents as never,
        responses: errorResponses() as never,
      },
    },
    stripBasePath: false,
    convertConstToEnum: false,
    transform: ({ schema, url }) => ({
      schema,
      // Below a prefix the root has two addresses, with and without a final slash.
      url: (url.slice(prefix.length) || "/").replace(/\*$/, ":path"),
    }),
    transformObject: (made) => {
      const document = "openapiObject" in made ? made.openapiObject : made.swaggerObject;
      for (const path of Object.values(document.paths ?? {}))
        for (const operation of Object.values(path ?? {})) finish(operation as Operation);
      return document as never;
    },
  };
}
