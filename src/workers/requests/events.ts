/** `_minion_event`: fires a minion's events on the master's bus. docs/protocol.md sections 7.1 and 10.3. */
import { minionEventBytesMax, minionEventsMax, sentValuesMax } from "../../limits.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { encodeEventBytes, eventBodyBytes, frameEvent } from "../../wire/event.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { loadAsEventData, trimData } from "../../wire/return.ts";
import type { Value } from "../../wire/values.ts";
import { headOf, skipWhole } from "../../wire/walk.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { kindOfTag, type TagKind, type TagRules } from "./event-tags.ts";
import { fieldBytes, textOf } from "./fields.ts";

const acknowledged: Answer = { value: null };
/** Keys that a minion's progress event must not have: command lines that follow a job read them as the master's. */
const mastersWords = ["minions", "missing", "return"];
const shownTagCharsMax = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it hides
const controlCharacters = /[\u0000-\u001f\u007f]/g;

/** An event's bytes. Over `max_event_size` its largest values are cut, as in Salt, before they are copied behind the tag. */
export function boundedEvent(worker: WorkerState, tag: string, data: Uint8Array): Buffer {
  const { max_event_size: bytesMax } = worker.start.config;
  if (eventBodyBytes(tag, data.byteLength) <= bytesMax) return encodeEventBytes(tag, data);
  worker.count("events.trimmed");
  return encodeEventBytes(tag, trimData(data, bytesMax));
}

export function handleMinionEvent(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id } = opened;
  if (id === undefined) return { value: new Map() };
  const tag = textOf(load, entries, "tag");
  if (opened.isProven && tag === `salt/minion/${id}/start`) batch.started.push(id);
  if (!batch.isHeard) return acknowledged;
  const fired = new FiredEvents(worker, batch, { id, isProven: opened.isProven });
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

/**
 * Decodes one event at a time, because a list of 600,000 events in a request of 2 MB would become 1 GB of objects. All events of a request share one
 * budget, because it bounds the time that they cost.
 */
function fireList(fired: FiredEvents, batch: BatchEffects, events: Uint8Array, pretag: string | undefined): void {
  const { count, start } = headOf(events, 0);
  const budget = DecodeBudget.ofRequest();
  let position = start;
  for (let index = 0; index < count; index += 1) {
    if (index >= minionEventsMax || fired.isFull) {
      fired.drop(count - index);
      return;
    }
    const end = skipWhole(events, position);
    const event = eventWithin(events.subarray(position, end), budget);
    if (budget.isUsedUp) {
      fired.drop(count - index);
      return;
    }
    position = end;
    if (event instanceof Map) fireListed(fired, batch, event, pretag);
  }
}

/** The event; undefined if the budget of the request's events ends in it. @throws SaltworksError as `decode` for other faults */
export function eventWithin(event: Uint8Array, budget: DecodeBudget): Value | undefined {
  try {
    return decode(event, "text", budget);
  } catch (error) {
    if (!budget.isUsedUp) throw error;
    return undefined;
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
  // In Salt an event's data is always a map. If `data` is not a map, the whole event is the data.
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

/** Encodes the data. An `id` in the data of an event about a minion becomes the sender's, because readers trust it. */
function packedAs(kind: TagKind, fields: Map<Value, Value>, sender: string): Buffer {
  const isOthers = kind !== "free" && fields.has("id");
  return encode(isOthers ? new Map(fields).set("id", sender) : fields, "bin");
}

/** Bounds of the events of one request. `counter`: counts what is dropped beyond them. */
export type EventBounds = { readonly count: number; readonly bytes: number; readonly counter: string };

const ofMinion: EventBounds = { count: minionEventsMax, bytes: minionEventBytesMax, counter: "events.overRequest" };

/** Fires the events of one request, up to its bounds. */
export class FiredEvents {
  readonly id: string;
  readonly #isProven: boolean;
  readonly #worker: WorkerState;
  readonly #batch: BatchEffects;
  readonly #bounds: EventBounds;
  readonly #bytesMax: number;
  #bytes = 0;
  #dropped = 0;
  #isFull = false;

  constructor(
    worker: WorkerState,
    batch: BatchEffects,
    { id, isProven }: { readonly id: string; readonly isProven: boolean },
    bounds = ofMinion,
  ) {
    this.#worker = worker;
    this.#batch = batch;
    this.id = id;
    this.#isProven = isProven;
    this.#bounds = bounds;
    // Two events of `max_event_size` always fit.
    this.#bytesMax = Math.max(bounds.bytes, 2 * worker.start.config.max_event_size);
  }

  /** Whether an event was dropped for its bytes. Later events of the request are dropped unread, even if they would fit. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** `has`: whether the event's data has a key. */
  kindOf(tag: string, has: (key: string) => boolean): TagKind {
    const kind = kindOfTag(tag, this.id, this.#worker.start.config.minion_event_tags as TagRules);
    // Requests of versions 0 and 2 may lack a token; then only free tags are allowed.
    const isAllowed = kind === "free" || (kind !== "refused" && this.#isProven);
    if (isAllowed && !(kind === "progress" && mastersWords.some(has))) return kind;
    this.#worker.count("events.forbiddenTag");
    const shown = tag.slice(0, shownTagCharsMax).replace(controlCharacters, "?");
    this.#batch.refuse(this.id, `Filtering blacklisted event tag ${shown}`);
    return "refused";
  }

  fire(tag: string, data: Uint8Array): void {
    this.#worker.meter.noteSize("event", eventBodyBytes(tag, data.byteLength));
    const body = boundedEvent(this.#worker, tag, data);
    if (this.#bytes + body.byteLength > this.#bytesMax) {
      this.#dropped += 1;
      this.#isFull = true;
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
    this.#worker.count(this.#bounds.counter, this.#dropped);
    const bounds = `at most ${this.#bounds.count} events, ${this.#bytesMax} bytes and ${sentValuesMax} values`;
    this.#batch.refuse(this.id, `events of one request are dropped beyond ${bounds}: ${this.#dropped} here`);
  }
}
