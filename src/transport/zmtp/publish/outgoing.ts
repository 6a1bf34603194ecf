/** An outgoing message: framed once for each framing in use, with the same bytes for all subscribers. Pure: no I/O, no clock. */
import { smallReplyBytes } from "../../../limits.ts";
import { type Framing, partFrame } from "../frames.ts";

/** Bytes of one publish in either framing, counted once for all subscribers that hold it. */
export type Shared = { readonly length: number; holders: number };

export type Outgoing = {
  /** Sent before the body: the topic, if the payload is too large to copy behind it. */
  readonly head: Buffer | undefined;
  readonly body: Buffer;
  readonly shared: Shared;
  /** Bytes of head and body. */
  readonly length: number;
};

/** A payload for all subscribers, or for several topics in turn. */
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
