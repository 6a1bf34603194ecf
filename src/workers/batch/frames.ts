/**
 * Packs the frames of a batch into one transferred buffer, because a thread hop costs more than the crypto does.
 * Layout: u32 count; per item u8 kind, u8 version, u8 seal key, u8 encryption algorithm, u32 end of its bytes (counted from the first byte after
 * the table); the bytes of all items. Bytes in shared memory are not in the buffer: their views go beside it.
 */
import { SaltworksError } from "../../errors.ts";
import { bufferOf } from "../../wire/walk.ts";
import type { SealKey } from "../messages/deferred.ts";

/**
 * Where an item of a batch comes from. `ordinary`: the socket. `opened`: another worker, which has opened its seal. `auth`: the queue of
 * authentications. `overMinionsMax`: the same queue while `max_minions` are connected.
 */
export const itemKinds = { ordinary: 0, opened: 1, overMinionsMax: 2, auth: 3 } as const;
export type ItemKind = (typeof itemKinds)[keyof typeof itemKinds];

/** Only an opened item needs `version`, `sealKey` and `encAlgorithm`. An ordinary frame states its own. */
export type BatchItem = {
  readonly kind: ItemKind;
  readonly bytes: Uint8Array;
  readonly version?: number;
  readonly sealKey?: SealKey;
  readonly encAlgorithm?: string | undefined;
};
export type ReceivedItem = {
  readonly kind: number;
  readonly version: number;
  readonly sealKey: SealKey;
  readonly encAlgorithm: string | undefined;
  readonly bytes: Buffer;
};

/** A frame holds an algorithm as its index here; 0 means none. Other algorithms are sent as `unknown`, and the worker refuses them. */
const encAlgorithms = [undefined, "OAEP-SHA1", "OAEP-SHA224", "unknown"] as const;

function numberOf(encAlgorithm: string | undefined): number {
  const number = (encAlgorithms as readonly (string | undefined)[]).indexOf(encAlgorithm);
  return number < 0 ? encAlgorithms.length - 1 : number;
}

const headerBytes = 4;
const entryBytes = 8;

/** `shared`: the bytes of an item that are in shared memory, which both threads see. */
export type PackedBatch = { readonly buffer: ArrayBuffer; readonly shared: readonly SharedBytes[] };
export type SharedBytes = { readonly item: number; readonly bytes: Uint8Array };

/** Copies the bytes that are not in shared memory, because the caller keeps its frames for a second try if the worker dies. */
export function packBatch(items: readonly BatchItem[]): PackedBatch {
  const shared: SharedBytes[] = [];
  let total = headerBytes + items.length * entryBytes;
  for (const [item, { bytes }] of items.entries()) {
    if (isShared(bytes)) shared.push({ item, bytes });
    else total += bytes.byteLength;
  }
  const buffer = new ArrayBuffer(total);
  const view = new DataView(buffer);
  const bytes = new Uint8Array(buffer);
  const bodyStart = headerBytes + items.length * entryBytes;
  view.setUint32(0, items.length);
  let entry = headerBytes;
  let end = 0;
  for (const item of items) {
    if (!isShared(item.bytes)) {
      bytes.set(item.bytes, bodyStart + end);
      end += item.bytes.byteLength;
    }
    view.setUint8(entry, item.kind);
    view.setUint8(entry + 1, item.version ?? 0);
    view.setUint8(entry + 2, item.sealKey === "former" ? 1 : 0);
    view.setUint8(entry + 3, numberOf(item.encAlgorithm));
    view.setUint32(entry + 4, end);
    entry += entryBytes;
  }
  return { buffer, shared };
}

function isShared(bytes: Uint8Array): boolean {
  return bytes.buffer instanceof SharedArrayBuffer;
}

/** Items are views into `buffer` and shared memory. @throws SaltworksError WIRE_MALFORMED if the table does not fit the buffer */
export function unpackBatch({ buffer, shared }: PackedBatch): ReceivedItem[] {
  const sharedOf = new Map(shared.map(({ item, bytes }) => [item, bytes]));
  const view = new DataView(buffer);
  const count = buffer.byteLength < headerBytes ? 0 : view.getUint32(0);
  const bodyStart = headerBytes + count * entryBytes;
  if (bodyStart > buffer.byteLength)
    throw new SaltworksError("WIRE_MALFORMED", "batch table exceeds its buffer", { count });
  const items: ReceivedItem[] = new Array(count);
  let start = bodyStart;
  for (let index = 0; index < count; index += 1) {
    const entry = headerBytes + index * entryBytes;
    const end = bodyStart + view.getUint32(entry + 4);
    if (end < start || end > buffer.byteLength)
      throw new SaltworksError("WIRE_MALFORMED", "batch item exceeds its buffer", { index });
    items[index] = {
      kind: view.getUint8(entry),
      version: view.getUint8(entry + 1),
      sealKey: view.getUint8(entry + 2) === 1 ? "former" : "current",
      encAlgorithm: encAlgorithms[view.getUint8(entry + 3)],
      bytes: bufferOf(sharedOf.get(index) ?? new Uint8Array(buffer, start, end - start)),
    };
    start = end;
  }
  return items;
}
