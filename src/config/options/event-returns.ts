/**
 * Options of `event_return`: which events go where. The names are those of Salt's returners. src/databases/events/registry.ts has the drivers; it
 * compiles only with the same names.
 */
import { mebibyte, ours, seconds } from "./details.ts";
import { integer, list, optional, text, textOrList } from "./option.ts";

/** Databases among them have their options in job-cache-drivers.ts. */
export const eventReturnNames = ["mysql", "pgjsonb", "postgres", "rawfile_json", "nats"] as const;
export type EventReturnName = (typeof eventReturnNames)[number];

const listed = eventReturnNames.map((name) => `\`${name}\``).join(", ");

function globsFault(entries: readonly unknown[]): string | undefined {
  const wrong = entries.find((entry) => typeof entry !== "string");
  return wrong === undefined ? undefined : `${JSON.stringify(wrong)} is not a text`;
}

export const eventReturnOptions = {
  event_return: textOrList("", `Where every event is written: a name or a list of ${listed}.`),
  event_return_queue: integer(0, "Events gathered before they are written together; 0 and 1: each at once.", {
    min: 0,
    max: 1_000_000,
    unit: "events",
  }),
  event_return_queue_max_seconds: integer(
    0,
    "Longest wait of a gathered event before it is written; 0: until `event_return_queue` events are there.",
    seconds,
  ),
  event_return_whitelist: list([], "Only events whose tags match one of these globs; empty: all.", {
    entriesFault: globsFault,
  }),
  event_return_blacklist: list([], "No events whose tags match one of these globs, whatever the whitelist says.", {
    entriesFault: globsFault,
  }),
  event_return_waiting_max: integer(
    100_000,
    "Events that wait in memory for one returner of `event_return`. Over it new events are dropped for this returner, counted and logged.",
    { ...ours, min: 100, max: 10_000_000, unit: "events" },
  ),
  event_return_waiting_max_bytes: integer(64 * mebibyte, "As `event_return_waiting_max`, in bytes.", {
    ...ours,
    min: mebibyte,
    max: 16_384 * mebibyte,
    unit: "bytes",
  }),
  "rawfile_json.filename": text(
    "/var/log/salt/events",
    "File to which `event_return: rawfile_json` appends each event, a line of JSON each.",
  ),
  "nats.servers": textOrList("127.0.0.1:4222", "Servers of NATS for `event_return: nats`.", ours),
  "nats.subject": text("salt.events", "Subject on which `event_return: nats` publishes.", ours),
  "nats.user": optional(text("", "User of NATS.", ours)),
  "nats.password": optional(text("", "Password of `nats.user`.", { ...ours, isSecret: true })),
  "nats.token": optional(text("", "Token for NATS, instead of a user.", { ...ours, isSecret: true })),
} as const;

function isEventReturnName(name: unknown): name is EventReturnName {
  return eventReturnNames.some((known) => known === name);
}

/** The returners that get events, each once, in the order of the configuration. `accept_missing` may have let others pass. */
export function eventReturnsOf({ event_return: names }: { readonly event_return: unknown }): EventReturnName[] {
  return [...new Set([names].flat().filter(isEventReturnName))];
}
