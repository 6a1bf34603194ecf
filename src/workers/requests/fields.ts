/** Reads single fields of an opened load without decoding the rest. Of equal keys the last counts, as in Salt. */
import type { DecodeBudget } from "../../wire/decoder.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import { type Entry, headOf, stringStart, textOf as textAt } from "../../wire/walk.ts";

function entryOf(entries: readonly Entry[], key: string): Entry | undefined {
  return entries.findLast((candidate) => candidate.key === key);
}

/** The encoded value of `key`; undefined if the load has none. */
export function fieldBytes(load: Uint8Array, entries: readonly Entry[], key: string): Uint8Array | undefined {
  const entry = entryOf(entries, key);
  return entry && load.subarray(entry.valueStart, entry.valueEnd);
}

/** The decoded value of `key`; undefined if the load has none. @throws SaltworksError as `decode`, also if the budget is used up */
export function field(
  load: Uint8Array,
  entries: readonly Entry[],
  key: string,
  budget: DecodeBudget,
): Value | undefined {
  const bytes = fieldBytes(load, entries, key);
  return bytes && decode(bytes, "text", budget);
}

/** The number, text, boolean, null or bytes of `key`; undefined if the load has none, or a list or a map, which is not decoded. */
export function scalarOf(load: Uint8Array, entries: readonly Entry[], key: string): Value | undefined {
  const bytes = fieldBytes(load, entries, key);
  return bytes === undefined || isCollectionAt(bytes) ? undefined : decode(bytes);
}

/** Whether the load has a list or a map as `key`, by its first bytes. */
export function isCollection(load: Uint8Array, entries: readonly Entry[], key: string): boolean {
  const bytes = fieldBytes(load, entries, key);
  return bytes !== undefined && isCollectionAt(bytes);
}

function isCollectionAt(bytes: Uint8Array): boolean {
  const { kind } = headOf(bytes, 0);
  return kind === "list" || kind === "map";
}

export function textOf(load: Uint8Array, entries: readonly Entry[], key: string): string | undefined {
  const entry = entryOf(entries, key);
  return entry && textAt(load, entry.valueStart, entry.valueEnd);
}

/** The byte string of `key`, such as a signature or a token, as a view into the load. */
export function bytesOf(load: Uint8Array, entries: readonly Entry[], key: string): Uint8Array | undefined {
  const entry = entryOf(entries, key);
  return entry && stringBytesAt(load, entry);
}

function stringBytesAt(load: Uint8Array, { valueStart, valueEnd }: Entry): Uint8Array | undefined {
  const start = stringStart(load, valueStart);
  return start < 0 ? undefined : load.subarray(start, valueEnd);
}

/** The fields that every request has. They are read in one pass, for speed: every return comes here. `hasForeignId`: the id is not a text. */
export type LoadHead = {
  cmd: string;
  id: string | undefined;
  hasForeignId: boolean;
  nonce: string | undefined;
  token: Uint8Array | undefined;
};

export function readHead(load: Uint8Array, entries: readonly Entry[]): LoadHead {
  const head: LoadHead = { cmd: "", id: undefined, hasForeignId: false, nonce: undefined, token: undefined };
  for (const entry of entries) {
    switch (entry.key) {
      case "cmd":
        head.cmd = textAt(load, entry.valueStart, entry.valueEnd) ?? "";
        break;
      case "id":
        head.id = textAt(load, entry.valueStart, entry.valueEnd);
        head.hasForeignId = head.id === undefined;
        break;
      case "nonce":
        head.nonce = textAt(load, entry.valueStart, entry.valueEnd);
        break;
      case "tok":
        head.token = stringBytesAt(load, entry);
        break;
    }
  }
  return head;
}
