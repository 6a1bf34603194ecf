/** `_minion_event`: events of a minion for the master's bus. docs/protocol.md sections 7.1 and 10.3. */
import { minionEventBytesMax, minionEventsMax } from "../../limits.ts";
import { encodeEventBytes, frameEvent } from "../../wire/event.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { loadAsEventData, trimEvent } from "../../wire/return.ts";
import type { Value } from "../../wire/values.ts";
import { headOf, skipWhole } from "../../wire/walk.ts";
import type { Shard } from "../holding/shard.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { kindOfTag, type TagKind, type TagRules } from "./event-tags.ts";
import { fieldBytes, textOf } from "./fields.ts";

const acknowledged: Answer = { value: null };
/** Keys that only the master may set, because command lines that follow a job trust them. */
const mastersWords = ["minions", "missing", "return"];
const shownTagCharsMax = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it hides
const controlCharacters = /[\u0000-\u001f\u007f]/g;

export function handleMinionEvent(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id } = opened;
  if (id === undefined) return { value: new Map() };
  const tag = textOf(load, entries, "tag");
  if (opened.isProven && tag === `salt/minion/${id}/start`) batch.started.push(id);
  if (!batch.isHeard) return acknowledged;
  const fired = new FiredEvents(shard, batch, { id, isProven: opened.isProven });
  const events = fieldBytes(load, entries, "events");
  if (events !== undefined && headOf(events, 0).kind === "list") {
    fireList(fired, batch, events, textOf(load, entries, "pretag"));
  } else if (tag !== undefined) {
    const kind = fired.kindOf(tag, (word) => entries.some(({ key }) => key === word));
    if (kind !== "refused") fired.fire(tag, loadAsEventData(load, entries, batch.stamp));
  }
  fired.finish();
  return acknowledged;
}

/** Decodes one event at a time: a list of 600,000 in a request of 2 MB would be a gigabyte of objects. */
function fireList(fired: FiredEvents, batch: BatchEffects, events: Uint8Array, pretag: string | undefined): void {
  const { count, start } = headOf(events, 0);
  let position = start;
  for (let index = 0; index < count; index += 1) {
    if (index >= minionEventsMax) {
      fired.drop(count - index);
      return;
    }
    const end = skipWhole(events, position);
    const event = decode(events.subarray(position, end));
    position = end;
    if (event instanceof Map) fireListed(fired, batch, event, pretag);
  }
}

function fireListed(
  fired: FiredEvents,
  batch: BatchEffects,
  event: ReadonlyMap<Value, Value>,
  pretag: string | undefined,
): void {
  const tag = event.get("tag");
  const data = event.get("data");
  if (typeof tag !== "string") return;
  // Salt's event data is always a map. Without one the whole event is the data.
  const fields = new Map(data instanceof Map ? data : event);
  const has = (word: string) => fields.has(word);
  const kind = fired.kindOf(tag, has);
  if (kind === "refused") return;
  if (!fields.has("_stamp")) fields.set("_stamp", batch.stamp);
  const packed = packedAs(kind, fields, fired.id);
  fired.fire(tag, packed);
  if (pretag === undefined || pretag === "") return;
  const prefixed = `${pretag}/${tag}`;
  const kindOfPrefixed = fired.kindOf(prefixed, has);
  if (kindOfPrefixed === "refused") return;
  fired.fire(prefixed, kindOfPrefixed === kind ? packed : packedAs(kindOfPrefixed, fields, fired.id));
}

/** Sets the id in the data to the sender's, because readers of an event about a minion take it from there. */
function packedAs(kind: TagKind, fields: Map<Value, Value>, sender: string): Buffer {
  const isOthers = kind !== "free" && fields.has("id");
  return encode(isOthers ? new Map(fields).set("id", sender) : fields, "bin");
}

/** Fires the events of one request within its bounds. */
class FiredEvents {
  readonly id: string;
  readonly #isProven: boolean;
  readonly #shard: Shard;
  readonly #batch: BatchEffects;
  readonly #bytesMax: number;
  #bytes = 0;
  #dropped = 0;

  constructor(
    shard: Shard,
    batch: BatchEffects,
    { id, isProven }: { readonly id: string; readonly isProven: boolean },
  ) {
    this.#shard = shard;
    this.#batch = batch;
    this.id = id;
    this.#isProven = isProven;
    // Two events of the largest allowed size always fit.
    this.#bytesMax = Math.max(minionEventBytesMax, 2 * shard.start.config.max_event_size);
  }

  /** `has`: whether the event's data has a key. */
  kindOf(tag: string, has: (key: string) => boolean): TagKind {
    const kind = kindOfTag(tag, this.id, this.#shard.start.config.minion_event_tags as TagRules);
    // Requests of versions 0 and 2 may come without a token.
    const isAllowed = kind === "free" || (kind !== "refused" && this.#isProven);
    if (isAllowed && !(kind === "progress" && mastersWords.some(has))) return kind;
    this.#shard.count("events.forbiddenTag");
    const shown = tag.slice(0, shownTagCharsMax).replace(controlCharacters, "?");
    this.#batch.refuse(this.id, `Filtering blacklisted event tag ${shown}`);
    return "refused";
  }

  fire(tag: string, data: Uint8Array): void {
    const { max_event_size: eventBytesMax } = this.#shard.start.config;
    const whole = encodeEventBytes(tag, data);
    this.#shard.meter.noteSize("event", whole.byteLength);
    const isTooLarge = whole.byteLength > eventBytesMax;
    if (isTooLarge) this.#shard.count("events.trimmed");
    const body = isTooLarge ? trimEvent(whole, eventBytesMax) : whole;
    if (this.#bytes + body.byteLength > this.#bytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#bytes += body.byteLength;
    this.#batch.addEvent(frameEvent(body));
  }

  drop(count: number): void {
    this.#dropped += count;
  }

  finish(): void {
    if (this.#dropped === 0) return;
    this.#shard.count("events.overRequest", this.#dropped);
    const bounds = `at most ${minionEventsMax} events and ${this.#bytesMax} bytes`;
    this.#batch.refuse(this.id, `events of one request are dropped beyond ${bounds}: ${this.#dropped} here`);
  }
}
