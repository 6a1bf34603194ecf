/**
 * Rules of web services that returners write to, as their makers publish them, in our words: each function returns what a server would refuse a
 * request for. Sources: Splunk's "Format events for HTTP Event Collector", InfluxData's "Line protocol reference", Slack's "Incoming webhooks" and
 * "Legacy attachments", Elastic's "Create index", "Update aliases" and "Index API".
 */
import type { Sink } from "./sink.ts";

type Request = Sink["requests"][number];
type Json = { readonly [member: string]: unknown };

/** The members that may stand beside the event. All others belong into `fields` or into the event. */
const splunkMembers = new Set(["time", "host", "source", "sourcetype", "index", "fields", "event"]);

export function splunkFaults({ method, path, headers, body }: Request): string[] {
  const event = JSON.parse(body) as Json;
  return [
    ...faultIf(method !== "POST" || !path.endsWith("/services/collector/event"), `${method} ${path}`),
    ...faultIf(!/^Splunk \S+$/.test(headers.authorization ?? ""), "the token is not in the header"),
    ...Object.keys(event).flatMap((name) => faultIf(!splunkMembers.has(name), `member ${name}`)),
    ...faultIf(!/^\d+(?:\.\d{1,3})?$/.test(String(event.time)), "time is not in seconds since 1970"),
    ...["host", "sourcetype", "index"].flatMap((name) =>
      faultIf(typeof event[name] !== "string" || event[name] === "", `${name} is not a text`),
    ),
    ...faultIf(event.event === undefined || event.event === null || event.event === "", "the event is blank"),
  ];
}

export type Point = {
  readonly measurement: string;
  readonly tags: ReadonlyMap<string, string>;
  readonly fields: ReadonlyMap<string, string>;
};

/** A line with text fields and the server's own time. @throws Error for a line that the server refuses or understands otherwise */
export function parsePoint(line: string): Point {
  // In names and tags a backslash escapes comma, equals sign and blank, and stands for itself elsewhere. Neither may hold a line break.
  const [head = "", measurement = ""] = /^((?:\\[, ]|[^, \n])+)/.exec(line) ?? [];
  let at = head.length;
  const take = (pattern: RegExp): string[] | undefined => {
    const found = pattern.exec(line.slice(at));
    if (found === null) return undefined;
    at += found[0].length;
    return found.slice(1);
  };
  const plain = (text = "") => text.replace(/\\([,= ])/g, "$1");
  const tags = new Map<string, string>();
  for (let tag = take(tagPattern); tag !== undefined; tag = take(tagPattern)) tags.set(plain(tag[0]), plain(tag[1]));
  const fields = new Map<string, string>();
  for (
    let field = take(/^ ((?:\\[,= ]|[^,= \n])+)="((?:\\.|[^"\\])*)"/s);
    field !== undefined;
    field = take(/^,((?:\\[,= ]|[^,= \n])+)="((?:\\.|[^"\\])*)"/s)
  )
    fields.set(plain(field[0]), (field[1] ?? "").replace(/\\(["\\])/g, "$1"));
  if (measurement === "" || fields.size === 0 || line.slice(at) !== "")
    throw new Error(`not a point: ${line.slice(at)}`);
  return { measurement: plain(measurement), tags, fields };
}

const tagPattern = /^,((?:\\[,= ]|[^,= \n])+)=((?:\\[,= ]|[^,= \n])+)/;

export function influxFaults({ method, path, headers, body }: Request): string[] {
  const { pathname, searchParams } = new URL(path, "http://influxdb");
  const lines = body.split("\n");
  return [
    ...faultIf(method !== "POST" || pathname !== "/write", `${method} ${pathname}`),
    ...faultIf(!searchParams.get("db"), "no database is named"),
    ...faultIf(!/^Basic \S+$/.test(headers.authorization ?? ""), "the login is not in the header"),
    ...faultIf(lines.length !== 2 || lines[1] !== "", "the body is not one line"),
  ];
}

const slackColors = /^(?:good|warning|danger|#[0-9a-f]{6})$/i;
const slackAttachmentsMax = 100;

export function slackFaults({ method, headers, body }: Request): string[] {
  const isForm = headers["content-type"] === "application/x-www-form-urlencoded";
  const message = JSON.parse((isForm ? new URLSearchParams(body).get("payload") : body) ?? "") as Json;
  const attachments = (message.attachments ?? []) as readonly Json[];
  return [
    ...faultIf(method !== "POST", method),
    ...faultIf(message.text === undefined && attachments.length === 0, "no_text"),
    ...faultIf(attachments.length > slackAttachmentsMax, "too_many_attachments"),
    ...attachments.flatMap((attachment) => [
      ...faultIf(!slackColors.test(String(attachment.color ?? "good")), `color ${attachment.color}`),
      ...faultIf(
        ["fallback", "text", "title", "fields"].every((name) => !attachment[name]),
        "an attachment shows nothing",
      ),
      ...((attachment.fields ?? []) as readonly Json[]).flatMap(({ value, short }) =>
        faultIf(typeof value !== "string" || typeof short !== "boolean", "a field is not a text"),
      ),
    ]),
  ];
}

const elasticNameBytesMax = 255;

/** `asked`: method and path. */
export function elasticFaults({ asked, body }: { readonly asked: string; readonly body: unknown }): string[] {
  const [method = "", path = ""] = asked.split(" ");
  const [index = "", second, third] = path.split("/").slice(1).map(decodeURIComponent);
  const names = [index, ...(second === "_alias" ? [third ?? ""] : [])];
  const isKnown =
    (method === "HEAD" && second === undefined) ||
    (method === "PUT" && (second === undefined || second === "_alias")) ||
    (method === "POST" && second !== undefined && third === undefined);
  const settings = ((body ?? {}) as { settings?: Json }).settings ?? {};
  return [
    ...faultIf(!isKnown, asked),
    ...names.flatMap((name) =>
      faultIf(
        !/^[^-_+A-Z\\/*?"<>|\s,#:][^A-Z\\/*?"<>|\s,#:]*$/.test(name) || Buffer.byteLength(name) > elasticNameBytesMax,
        `name ${name}`,
      ),
    ),
    ...Object.keys(settings).flatMap((name) => faultIf(!/^number_of_(?:shards|replicas)$/.test(name), name)),
    ...faultIf(method === "POST" && (typeof body !== "object" || body === null || Array.isArray(body)), "no document"),
  ];
}

function faultIf(isFault: boolean, text: string): string[] {
  return isFault ? [text] : [];
}
