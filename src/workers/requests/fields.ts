/** Reads single fields of an opened load without decoding the rest. The last of two equal keys counts, as in Salt. */
import { decode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import { type Entry, stringStart, textOf as textAt } from "../../wire/walk.ts";

function entryOf(entries: readonly Entry[], key: string): Entry | undefined {
  return entries.findLast((candidate) => candidate.key === key);
}

/** The encoded value of `key`; undefined if the load has none. */
export function fieldBytes(load: Uint8Array, entries: readonly Entry[], key: string): Uint8Array | undefined {
  const entry = entryOf(entries, key);
  return entry && load.subarray(entry.valueStart, entry.valueEnd);
}

/** The decoded value of `key`; undefined if the load has none. */
export function field(load: Uint8Array, entries: readonly Entry[], key: string): Value | undefined {
  const bytes = fieldBytes(load, entries, key);
  return bytes && decode(bytes);
}

export function textOf(load: Uint8Array, entries: readonly Entry[], key: string): string | undefined {
  const entry = entryOf(entries, key);
  return entry && textAt(load, entry.valueStart, entry.valueEnd);
}

/** A byte string, such as a signature or token: a view into the load. */
export function bytesOf(load: Uint8Array, entries: readonly Entry[], key: string): Uint8Array | undefined {
  const entry = entryOf(entries, key);
  return entry && stringBytesAt(load, entry);
}

function stringBytesAt(load: Uint8Array, { valueStart, valueEnd }: Entry): Uint8Array | undefined {
  const start = stringStart(load, valueStart);
  return start < 0 ? undefined : load.subarray(start, valueEnd);
}

/** Fields of every request, read in one pass because every return passes here. `hasForeignId`: the id is not a text. */
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
