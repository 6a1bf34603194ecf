/** A message as it goes out: framed once for each framing in use, and the same bytes for each subscriber. Pure: no I/O, no clock. */
import { smallReplyBytes } from "../../../limits.ts";
import { type Framing, partFrame } from "../frames.ts";

/** Bytes that several subscribers may hold. */
export type SharedBytes = { readonly bytes: Buffer; holders: number };

export type Outgoing = {
  /** Goes before the body: a topic whose payload is too large to be copied behind it. */
  readonly head: Buffer | undefined;
  readonly body: SharedBytes;
  /** Of both. */
  readonly length: number;
};

/** A payload that goes to all, or behind one topic after the other. */
export class Payload {
  readonly #bytes: Uint8Array;
  readonly #framed = new Map<Framing, Outgoing>();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  alone(framing: Framing): Outgoing {
    let outgoing = this.#framed.get(framing);
    if (outgoing === undefined) {
      outgoing = whole(partFrame(this.#bytes, false, framing));
      this.#framed.set(framing, outgoing);
    }
    return outgoing;
  }

  behind(topic: Buffer, framing: Framing): Outgoing {
    const head = partFrame(topic, true, framing);
    const { body, length } = this.alone(framing);
    if (length <= smallReplyBytes) return whole(Buffer.concat([head, body.bytes]));
    return { head, body, length: head.length + length };
  }
}

function whole(bytes: Buffer): Outgoing {
  return { head: undefined, body: { bytes, holders: 0 }, length: bytes.length };
}
