/** Schemas of what needs no master: the welcome, counters, pages and files, and the document itself. */
import {
  answers,
  binary,
  bySession,
  closed,
  type ErrorStatus,
  errors,
  object,
  open,
  type RouteSchema,
  text,
  texts,
} from "./forms.ts";
import { fileHeaderNames } from "./headers.ts";

const unchanged = { description: "The client has it: `If-None-Match` names its ETag.", type: "null" } as const;
const html = { "text/html": { schema: text } };
const file = { description: "The file.", content: { "*/*": binary } };
/** Files are sent whatever `Accept` says. */
const ofFiles = errors(404).filter((status) => status !== 406);

/** `hasPage`: browsers get a page. */
export function welcomeSchema(hasPage: boolean): RouteSchema {
  const welcome = answers(
    "The clients; a page for browsers.",
    closed({ return: { const: "Welcome" }, clients: texts }),
  );
  return {
    operationId: "getWelcome",
    summary: "Names the clients.",
    tags: ["pages"],
    security: open,
    response: hasPage
      ? {
          200: { ...welcome, content: { ...welcome.content, ...html } },
          304: unchanged,
          308: { description: "The page's address ends with a slash.", type: "null" },
        }
      : { 200: welcome },
    ...(hasPage ? { "x-headers": { 200: fileHeaderNames, 304: fileHeaderNames, 308: ["Location"] } } : {}),
    "x-errors": errors(404),
  };
}

export function statsSchema(isOpen: boolean): RouteSchema {
  return {
    operationId: "getStats",
    summary: "Whether the session lives, and counters with `collect_stats`.",
    tags: ["pages"],
    security: isOpen ? open : bySession,
    response: {
      200: answers(
        "The counters. Empty without `collect_stats`.",
        object({ "CherryPy Applications": { type: "object" }, Saltworks: { type: "object" } }),
      ),
    },
    "x-errors": errors(...(isOpen ? [] : [401 as ErrorStatus])),
  };
}

/** A file, by `name` in the path if the route has one. */
export function fileSchema(operationId: string, summary: string, name?: "path" | "name"): RouteSchema {
  return {
    operationId,
    summary,
    tags: ["pages"],
    security: open,
    ...(name === undefined
      ? {}
      : { params: object({ [name]: { type: "string", description: "The file's name." } }, [name]) }),
    response: { 200: file, 304: unchanged },
    "x-headers": { 200: fileHeaderNames, 304: fileHeaderNames },
    "x-errors": ofFiles,
  };
}

export const documentSchema: RouteSchema = {
  operationId: "getDocument",
  summary: "This document.",
  tags: ["pages"],
  security: open,
  response: {
    200: answers("An OpenAPI document.", { type: "object", required: ["openapi", "info", "paths"] }),
    304: unchanged,
  },
  "x-headers": { 200: ["Cache-Control", "Content-Encoding", "ETag"], 304: ["Cache-Control", "ETag"] },
  "x-errors": errors(),
};
