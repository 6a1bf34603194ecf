/**
 * Reads messages from a connection's bytes, which come in pieces of any size. Checks the bounds of parts and bytes before it keeps anything.
 * A whole frame is read in place. Bytes of an unfinished one go into a buffer that grows with the bytes received, not with the announced
 * size. Pure: no I/O, no clock.
 */
import type { BodyBuffers } from "./body-buffers.ts";
import { type FrameHead, type Framing, frameHeadBytesMax, readHead } from "./frames.ts";

/** Faults of received bytes for which a connection is closed. */
export type MessageFault = "malformed" | "parts" | "messageBytes" | "refusedLarge";

export type MessageReaderOptions = {
  readonly framing: Framing;
  /** Parts of one message, the empty one included. */
  readonly partsMax: number;
  /** Bytes of one message, all parts together. */
  readonly messageBytesMax: number;
  /** Bytes of one command, and of a part before the last. */
  readonly commandBytesMax: number;
  /** Shared by all connections of a server. */
  readonly bodies: BodyBuffers;
  /** The last part is only valid during the call, see `kept`. After "stop", `push` returns how much it used. */
  readonly onMessage: (parts: readonly Buffer[]) => MessageVerdict;
  /** The body is only valid during the call. */
  readonly onCommand: (body: Buffer) => MessageVerdict;
  /** For a part over this size `mayBeLarge` decides, once its first bytes have come. */
  readonly largeBytes: number;
  /** `head`: the first bytes of the part, only valid during the call. `partBytes`: its announced size. */
  readonly mayBeLarge: (head: Buffer, partBytes: number) => boolean;
};

/** After a message or command: read on, stop reading, or close with a fault. */
export type MessageVerdict = "go" | "stop" | "malformed";

/** `used`: consumed bytes of the chunk; fewer than given only if `onMessage` or `onCommand` stopped it. */
export type PushResult = { readonly used: number } | { readonly fault: MessageFault };

const noBytes = Buffer.alloc(0);
/** Bytes of a large part that must have come before `mayBeLarge` is called. */
export const largeHeadBytes = 1_024;

export class MessageReader {
  readonly #options: MessageReaderOptions;
  #parts: Buffer[] = [];
  /** Bytes of the message so far, with the announced bytes of an unfinished part. */
  #messageBytes = 0;
  /** First bytes of an incomplete head. */
  #headRest: Buffer = noBytes;
  #unfinished: FrameHead | undefined;
  #body: Buffer = noBytes;
  #filled = 0;
  #isLargeDecided = false;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /** Whether a message or frame is unfinished. */
  get isUnfinished(): boolean {
    return this.#unfinished !== undefined || this.#parts.length > 0 || this.#headRest.length > 0;
  }

  /** Memory of the unfinished message and frame, at most the announced size: a small buffer may be twice as large. */
  get heldBytes(): number {
    let bytes = Math.min(this.#body.length, this.#unfinished?.bodyBytes ?? 0);
    for (const part of this.#parts) bytes += part.length;
    return bytes;
  }

  /** Discards the unfinished message. `push` may not be called afterwards. */
  close(): void {
    this.#options.bodies.give(this.#body);
    this.#reset();
  }

  /** Processes the next bytes; the caller may overwrite `chunk` afterwards. */
  push(chunk: Buffer): PushResult {
    let at = 0;
    if (this.#headRest.length > 0) {
      const before = this.#headRest.length;
      const start = Buffer.concat([this.#headRest, chunk.subarray(0, frameHeadBytesMax - before)]);
      this.#headRest = noBytes;
      const head = this.#admit(start, 0);
      if (typeof head === "string") return { fault: head };
      if (head === undefined) {
        this.#headRest = start;
        return { used: chunk.length };
      }
      at = head.headBytes - before;
      this.#begin(head);
    }
    return this.#pushBehindHead(chunk, at);
  }

  #pushBehindHead(chunk: Buffer, start: number): PushResult {
    let at = start;
    for (;;) {
      if (this.#unfinished !== undefined) {
        const taken = this.#fill(this.#unfinished, chunk, at);
        if (typeof taken === "string") return { fault: taken };
        at += taken;
        if (this.#filled < this.#unfinished.bodyBytes) return { used: at };
        const head = this.#unfinished;
        const body = this.#body;
        this.#reset();
        const next = this.#finish(head, body.subarray(0, head.bodyBytes));
        this.#options.bodies.give(body);
        if (next === "stop") return { used: at };
        if (next !== "go") return { fault: next };
      }
      const head = this.#admit(chunk, at);
      if (typeof head === "string") return { fault: head };
      if (head === undefined) {
        if (at < chunk.length) this.#headRest = Buffer.from(chunk.subarray(at));
        return { used: chunk.length };
      }
      const bodyAt = at + head.headBytes;
      const end = bodyAt + head.bodyBytes;
      if (end > chunk.length) {
        at = bodyAt;
        this.#begin(head);
        continue;
      }
      const view = chunk.subarray(bodyAt, end);
      at = end;
      if (head.bodyBytes > this.#options.largeBytes && !this.#mayBeLarge(head, view)) return { fault: "refusedLarge" };
      const next = this.#finish(head, view);
      if (next === "stop") return { used: at };
      if (next !== "go") return { fault: next };
    }
  }

  /** @returns undefined while the head is incomplete */
  #admit(bytes: Buffer, at: number): FrameHead | MessageFault | undefined {
    const { framing, partsMax, messageBytesMax, commandBytesMax } = this.#options;
    const head = readHead(bytes, at, framing);
    if (head === "malformed") return "malformed";
    if (head === "wait") return undefined;
    if (head.isCommand) return head.bodyBytes > commandBytesMax || this.#parts.length > 0 ? "malformed" : head;
    if (this.#parts.length >= partsMax) return "parts";
    // Parts before the last are copied when they are whole: Salt's clients send an empty one.
    if (head.isMore && head.bodyBytes > commandBytesMax) return "malformed";
    if (this.#messageBytes + head.bodyBytes > messageBytesMax) return "messageBytes";
    this.#messageBytes += head.bodyBytes;
    return head;
  }

  #begin(head: FrameHead): void {
    this.#unfinished = head;
    this.#body = noBytes;
    this.#filled = 0;
    this.#isLargeDecided = head.isCommand || head.bodyBytes <= this.#options.largeBytes;
  }

  #reset(): void {
    this.#unfinished = undefined;
    this.#body = noBytes;
    this.#filled = 0;
  }

  /** @returns bytes of the chunk that went into the unfinished body */
  #fill(head: FrameHead, chunk: Buffer, at: number): number | MessageFault {
    const bytes = Math.min(chunk.length - at, head.bodyBytes - this.#filled);
    if (bytes <= 0) return 0;
    const needed = this.#filled + bytes;
    if (needed > this.#body.length)
      this.#body = this.#options.bodies.grow(this.#body, this.#filled, needed, head.bodyBytes);
    chunk.copy(this.#body, this.#filled, at, at + bytes);
    this.#filled = needed;
    if (!this.#isLargeDecided && needed >= Math.min(largeHeadBytes, head.bodyBytes)) {
      this.#isLargeDecided = true;
      if (!this.#mayBeLarge(head, this.#body.subarray(0, needed))) return "refusedLarge";
    }
    return bytes;
  }

  #mayBeLarge(head: FrameHead, bytes: Buffer): boolean {
    return this.#options.mayBeLarge(bytes.subarray(0, largeHeadBytes), head.bodyBytes);
  }

  #finish(head: FrameHead, body: Buffer): "go" | "stop" | MessageFault {
    if (head.isCommand) return this.#options.onCommand(body);
    if (head.isMore) {
      this.#parts.push(body.length === 0 ? noBytes : Buffer.from(body));
      return "go";
    }
    const parts = [...this.#parts, body];
    this.#parts = [];
    this.#messageBytes = 0;
    return this.#options.onMessage(parts);
  }
}
