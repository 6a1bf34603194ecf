/** Messages over one secured connection, with beats in both directions, by which each side notices that the other is gone. */
import type { TLSSocket } from "node:tls";
import { SaltworksError } from "../../src/errors.ts";
import { beat, FrameReader, framesOf, messageBytesMax } from "./frames.ts";

/** Until the other side has said who it is, messages are a few hundred bytes. */
const greetingBytesMax = 16 * 1024;
/** Bytes that wait to be sent. Over it, the other side does not read, and the channel ends. */
const waitingBytesMax = 3 * messageBytesMax;

/** What the system calls it when the other side went. */
const closedCodes = ["ECONNRESET", "EPIPE"];
const closedText = "the connection was closed";

export type Beats = {
  readonly everyMs: number;
  /** The channel ends after this number of beats in which nothing came. */
  readonly silentMax: number;
};

export const beatsDefault: Beats = { everyMs: 1_000, silentMax: 10 };

export class Channel<In, Out extends object> {
  onMessage: (message: In) => void = () => {};
  /** Called once. */
  onEnd: (why: string) => void = () => {};
  readonly #socket: TLSSocket;
  readonly #reader: FrameReader;
  readonly #timer: NodeJS.Timeout;
  #silent = 0;
  #hasEnded = false;

  constructor(socket: TLSSocket, { everyMs, silentMax }: Beats = beatsDefault) {
    this.#socket = socket;
    this.#reader = new FrameReader(greetingBytesMax, (message) => this.#hear(message));
    socket.setNoDelay(true);
    socket.on("data", (bytes) => this.#take(bytes));
    socket.once("error", ({ code, message }: NodeJS.ErrnoException) => {
      this.end(closedCodes.includes(code ?? "") ? closedText : (code ?? message));
    });
    socket.once("close", () => this.end(closedText));
    // Counts beats instead of time, because a turn of the event loop that took long is this side's silence, not the other's.
    this.#timer = setInterval(() => {
      this.#silent += 1;
      if (this.#silent > silentMax) this.end(`nothing came for ${(silentMax * everyMs) / 1_000} s`);
      else if (socket.writableLength === 0) socket.write(beat);
    }, everyMs);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The other side is known: from now on its messages may be large. */
  trust(): void {
    this.#reader.bytesMax = messageBytesMax;
  }

  /** Ignored after the end. @throws SaltworksError WIRE_TOO_LARGE */
  send(message: Out): void {
    if (this.#hasEnded) return;
    const frames = framesOf(message);
    this.#socket.cork();
    for (const frame of frames) this.#socket.write(frame);
    this.#socket.uncork();
    if (this.#socket.writableLength > waitingBytesMax) this.end("it does not read what it is sent");
  }

  /** Ends at once, or after what was sent has left (`isPolite`). */
  end(why: string, { isPolite = false } = {}): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearInterval(this.#timer);
    // Errors that come after the end have no reader.
    this.#socket.on("error", () => undefined);
    if (isPolite) this.#socket.destroySoon();
    else this.#socket.destroy();
    this.onEnd(why);
  }

  #take(bytes: Buffer): void {
    this.#silent = 0;
    try {
      if (!this.#hasEnded) this.#reader.push(bytes);
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      this.end(`it sent ${error.message}`);
    }
  }

  #hear(message: unknown): void {
    if (!this.#hasEnded) this.onMessage(message as In);
  }
}
