/** Schemas of `/events`, `/ws` and `/hook`. */
import { apiStreamTagsMax } from "../../limits.ts";
import {
  answers,
  anything,
  bodies,
  bySession,
  byStream,
  type Components,
  closed,
  errors,
  object,
  open,
  type RouteSchema,
  ref,
  streamOf,
  text,
} from "./forms.ts";

const tags = ["events"];

export const eventComponents: Components = {
  Event: { ...closed({ tag: text, data: anything }), description: "An event of the master's bus." },
};

const tagFilter = {
  type: "array",
  items: text,
  maxItems: apiStreamTagsMax,
  description: "Globs of tags. Without one all events are sent.",
};

export const streamEventsSchema: RouteSchema = {
  operationId: "streamEvents",
  summary: "Events as a stream of server-sent events, until the session ends.",
  description:
    "Each event has the lines `tag:`, `data:` with an Event, and `id:`. A comment `: ping` follows every 20 s without one.",
  tags,
  security: byStream,
  querystring: object({ tag: tagFilter }),
  headers: object({
    "Last-Event-ID": {
      type: "string",
      description: "The last event that the client has: the stream goes on after it.",
    },
  }),
  response: { 200: { description: "The stream.", content: { "text/event-stream": streamOf(ref("Event")) } } },
  "x-headers": { 200: ["Cache-Control", "X-Accel-Buffering"] },
  "x-errors": errors(401),
};

const socket: Omit<RouteSchema, "operationId"> = {
  summary: "Events as messages of a WebSocket, until the session ends.",
  description:
    "The client sends the text `websocket client ready`. Messages are `data: `, an Event and two line ends; with `format_events` summaries of jobs and minions.",
  tags,
  security: byStream,
  querystring: object({
    tag: tagFilter,
    format_events: { type: "string", allowEmptyValue: true, description: "Summaries instead of events." },
  }),
  response: { 101: { description: "The connection speaks WebSocket.", type: "null" } },
  "x-errors": errors(401, 426),
};

export const openSocketSchema: RouteSchema = { ...socket, operationId: "openEventSocket" };

export const openSocketByTokenSchema: RouteSchema = {
  ...socket,
  operationId: "openEventSocketByToken",
  security: open,
  params: object({ token: { type: "string", description: "The session's id." } }, ["token"]),
  "x-errors": errors(401, 404, 426),
};

/** `isOpen`: hooks need no session. */
export function hookSchema(isOpen: boolean, hasPath: boolean): RouteSchema {
  return {
    operationId: hasPath ? "fireHookAt" : "fireHook",
    summary: "Fires an event with the body and the headers of the request, for reactors.",
    description: "The event's tag is `salt/netapi/hook`, and the rest of the path after it.",
    tags,
    security: isOpen ? open : bySession,
    ...(hasPath ? { params: object({ path: { type: "string", description: "May have slashes." } }, ["path"]) } : {}),
    body: bodies(anything, { type: "object" }),
    response: { 200: answers("The event was fired.", closed({ success: { const: true } })) },
    "x-errors": errors(...(isOpen ? [] : [401 as const]), ...(hasPath ? [404 as const] : []), 413),
    "x-optional-body": true,
  };
}
