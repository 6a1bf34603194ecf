/** Options for the OpenAPI document, which is generated from the schemas of the routes that this API has. */
import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import { apiErrorCodes } from "../http/error-codes.ts";
import { commandComponents } from "./commands.ts";
import { eventComponents } from "./events.ts";
import { type Components, closed, type ErrorStatus, errorTexts, ref, securitySchemes } from "./forms.ts";
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
const pageOf = (status: ErrorStatus) => ({
  description: errorTexts[status],
  content: { ...errorContent, "text/html": { schema: { type: "string" } } },
});
const errorName = (status: ErrorStatus | string): string => `Error${status}`;
const retried: ReadonlySet<string> = new Set(["429", "503"]);

function errorResponses(): Record<string, object> {
  const headers = { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } };
  return Object.fromEntries(
    Object.entries(errorTexts).map(([status, description]) => [
      errorName(status),
      { description, content: errorContent, ...(retried.has(status) ? { headers } : {}) },
    ]),
  );
}

type Operation = {
  responses: Record<string, object>;
  requestBody?: { required: boolean };
  "x-errors"?: readonly ErrorStatus[];
  "x-optional-body"?: boolean;
  "x-error-page"?: boolean;
};

/** Adds errors by reference: written out, they would be most of the document. */
function finish(operation: Operation): void {
  const { "x-errors": statuses = [], "x-optional-body": isOptional, "x-error-page": hasPage } = operation;
  delete operation["x-errors"];
  delete operation["x-error-page"];
  delete operation["x-optional-body"];
  for (const status of statuses)
    operation.responses[status] =
      hasPage === true ? pageOf(status) : { $ref: `#/components/responses/${errorName(status)}` };
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
          "The HTTP API of a Salt master, with the paths and answers of Salt's `rest_cherrypy`. Errors have one form in every path: Error. Besides the answers of each path, a path that does not exist gets 404, a method that a path does not have 405, and a request that is not HTTP 400, 408 or 431. `HEAD` is answered as `GET`.",
      },
      servers: [{ url: prefix === "" ? "/" : prefix }],
      tags,
      components: {
        securitySchemes,
        schemas: components as never,
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
