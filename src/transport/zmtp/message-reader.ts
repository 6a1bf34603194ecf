/**
 * Reads messages from a connection's bytes, which come in pieces of any size. Checks the bounds of parts and bytes before it keeps anything.
 * A whole frame is read in place. Bytes of an unfinished one go into a buffer that grows with the bytes received, not with the announced
 * size. Pure: no I/O, no clock.
 */
import { sharedHeadBytes } from "../../limits.ts";
import type { BodyBuffers } from "./bodies/body-buffers.ts";
import type { SharedMemory } from "./bodies/shared-memory.ts";
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
  /** Where bodies are read that a worker gets. Undefined: nowhere. */
  readonly memory?: SharedMemory | undefined;
  /** Whether a body may now take memory of its announced size. */
  readonly mayShare: () => boolean;
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
  /** Whether shared memory was asked for, for the unfinished body. */
  #isShareDecided = false;

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

  /** Bytes that the unfinished frame still lacks. */
  get wantedBytes(): number {
    return this.#unfinished === undefined ? 0 : this.#unfinished.bodyBytes - this.#filled;
  }

  /** Announced bytes of an unfinished part over `largeBytes`; 0 without one. */
  get largeBodyBytes(): number {
    const { bodyBytes = 0, isCommand = false } = this.#unfinished ?? {};
    return !isCommand && bodyBytes > this.#options.largeBytes ? bodyBytes : 0;
  }

  /** Discards the unfinished message. `push` may not be called afterwards. */
  close(): void {
    this.#giveBack(this.#body);
    this.#reset();
  }

  /**
   * Where the next bytes of the unfinished body belong, so that the kernel can write them there: `push` then copies nothing. The body moves into shared
   * memory when `sharedHeadBytes` have come. Ask right before each read: the place is good for one read, and only until `push` or `close`.
   *
   * @returns at most `bytesMax` bytes; undefined if the body is not read into shared memory
   */
  place(bytesMax: number): Buffer | undefined {
    const head = this.#unfinished;
    if (head === undefined || this.#filled === 0 || !this.#isLargeDecided) return undefined;
    if (!this.#isShareDecided && this.#filled >= sharedHeadBytes) this.#share(head);
    if (!isShared(this.#body)) return undefined;
    return this.#body.subarray(this.#filled, Math.min(this.#filled + bytesMax, head.bodyBytes));
  }

  #share(head: FrameHead): void {
    const { memory, mayShare } = this.#options;
    if (memory === undefined || head.isCommand || head.isMore || !mayShare()) return;
    this.#isShareDecided = true;
    const shared = memory.lend(head.bodyBytes);
    if (shared === undefined) return;
    shared.fill(this.#body.subarray(0, this.#filled), 0, this.#filled);
    this.#giveBack(this.#body);
    this.#body = shared;
  }

  #giveBack(body: Buffer): void {
    if (isShared(body)) this.#options.memory?.settle(body);
    else this.#options.bodies.give(body);
  }

  /** Processes the next bytes; the caller may overwrite `chunk` afterwards, unless it is of `place`. */
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
        this.#giveBack(body);
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
    this.#isShareDecided = false;
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
    if (!this.#isInPlace(chunk, at)) chunk.copy(this.#body, this.#filled, at, at + bytes);
    this.#filled = needed;
    if (!this.#isLargeDecided && needed >= Math.min(largeHeadBytes, head.bodyBytes)) {
      this.#isLargeDecided = true;
      if (!this.#mayBeLarge(head, this.#body.subarray(0, needed))) return "refusedLarge";
    }
    return bytes;
  }

  #isInPlace(chunk: Buffer, at: number): boolean {
    return chunk.buffer === this.#body.buffer && chunk.byteOffset + at === this.#body.byteOffset + this.#filled;
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

function isShared(body: Buffer): boolean {
  return body.buffer instanceof SharedArrayBuffer;
}
