/** Schemas of `GET /runner/FUN` and `GET /wheel/FUN`. */
import { answers, anything, bySession, closed, errors, type RouteSchema, text, texts } from "./forms.ts";

export function readingSchema(kind: "runner" | "wheel"): RouteSchema {
  return {
    operationId: kind === "runner" ? "readRunner" : "readWheel",
    summary: `Calls a ${kind} function that only reads. No job record is kept.`,
    description: `Another function, and a failed one, gets 400. Needs the permission for the ${kind} function.`,
    tags: ["reading"],
    security: bySession,
    params: {
      type: "object",
      properties: {
        fun: { type: "string", pattern: "\\.", description: "Module and function, such as `jobs.list_jobs`." },
      },
      required: ["fun"],
    },
    querystring: {
      type: "object",
      style: "form",
      explode: true,
      properties: {
        arguments: {
          type: "object",
          description:
            "Named arguments of the function, each a name of the query: words as on a command line; a repeated name is a list.",
          additionalProperties: { type: ["string", "array"], items: text },
        },
      },
    },
    response: {
      200: answers(
        "What the function returned, and its remarks.",
        closed({ return: { type: "array", items: anything, minItems: 1, maxItems: 1 }, notes: texts }, ["return"]),
      ),
    },
    "x-errors": errors(401, 404, 504),
  };
}
