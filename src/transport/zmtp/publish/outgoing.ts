/** A message as it goes out: framed once for each framing in use, and the same bytes for each subscriber. Pure: no I/O, no clock. */
import { smallReplyBytes } from "../../../limits.ts";
import { type Framing, partFrame } from "../frames.ts";

/** What several subscribers may hold, counted once for all of them, in whichever framing they have it. */
export type Shared = { readonly length: number; holders: number };

export type Outgoing = {
  /** Goes before the body: a topic whose payload is too large to be copied behind it. */
  readonly head: Buffer | undefined;
  readonly body: Buffer;
  readonly shared: Shared;
  /** Of both. */
  readonly length: number;
};

/** A payload that goes to all, or behind one topic after the other. */
export class Payload {
  readonly #bytes: Uint8Array;
  readonly #shared: Shared;
  readonly #framed = new Map<Framing, Outgoing>();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#shared = { length: bytes.length, holders: 0 };
  }

  alone(framing: Framing): Outgoing {
    let outgoing = this.#framed.get(framing);
    if (outgoing === undefined) {
      outgoing = whole(partFrame(this.#bytes, false, framing), this.#shared);
      this.#framed.set(framing, outgoing);
    }
    return outgoing;
  }

  behind(topic: Buffer, framing: Framing): Outgoing {
    const head = partFrame(topic, true, framing);
    const { body, shared, length } = this.alone(framing);
    if (length > smallReplyBytes) return { head, body, shared, length: head.length + length };
    const bytes = Buffer.concat([head, body]);
    return whole(bytes, { length: bytes.length, holders: 0 });
  }
}

function whole(body: Buffer, shared: Shared): Outgoing {
  return { head: undefined, body, shared, length: body.length };
}
