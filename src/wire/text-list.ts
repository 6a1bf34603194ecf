/**
 * A list of texts, kept as msgpack: 100,000 ids travel from the thread that found them into reply, events and record and are encoded
 * once. Source: docs/protocol.md section 2.6. Pure.
 */
import { decode, encode } from "./msgpack.ts";
import { Packed } from "./values.ts";

/**
 * Consecutive items of a list without the list's head. A text of up to 31 or over 255 bytes has one form in
 * both flavours, any other has that of `raw`.
 */
export type PackedTexts = { readonly count: number; readonly bytes: Uint8Array };

const headBytesMax = 5;

export class TextList {
  readonly count: number;
  /** The whole list, for encoders of either flavour. */
  readonly packed: Packed;
  #texts: readonly string[] | undefined;

  private constructor(count: number, packed: Packed, texts?: readonly string[]) {
    this.count = count;
    this.packed = packed;
    this.#texts = texts;
  }

  static of(texts: readonly string[]): TextList {
    return new TextList(texts.length, new Packed(encode(texts, "raw")), texts);
  }

  /** From a whole packed list of `count` texts. */
  static ofPacked(count: number, list: Uint8Array): TextList {
    return new TextList(count, new Packed(list));
  }

  static joined(parts: readonly PackedTexts[]): TextList {
    let count = 0;
    for (const part of parts) count += part.count;
    const head = listHead(count);
    return new TextList(count, new Packed(head, ...parts.map((part) => part.bytes)));
  }

  /** Decoded at the first call. */
  texts(): readonly string[] {
    this.#texts ??= decode(Buffer.concat(this.packed.pieces)) as string[];
    return this.#texts;
  }
}

export function packTexts(texts: readonly string[]): PackedTexts {
  const list = encode(texts, "raw");
  return { count: texts.length, bytes: Uint8Array.from(list.subarray(listHead(texts.length).length)) };
}

function listHead(count: number): Buffer {
  const head = Buffer.alloc(headBytesMax);
  if (count <= 15) return head.subarray(0, head.writeUInt8(0x90 | count, 0));
  head.writeUInt8(count <= 0xffff ? 0xdc : 0xdd, 0);
  return head.subarray(0, count <= 0xffff ? head.writeUInt16BE(count, 1) : head.writeUInt32BE(count, 1));
}
