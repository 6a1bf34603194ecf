/**
 * ZMTP 3.0 with the NULL mechanism, as far as a client's REQ or SUB socket needs it: greeting, READY, and messages of one part.
 * Source: https://rfc.zeromq.org/spec/23/ (ZMTP 3.0), docs/decisions/0015-storm-connections.md. Pure: no I/O.
 */
import { SaltworksError } from "../../../src/errors.ts";

export type SocketType = "REQ" | "SUB";

const greetingBytes = 64;
const flagMore = 0x01;
const flagLong = 0x02;
const flagCommand = 0x04;
const pingNameBytes = 5;
/** The name, and a time to live. */
const pingHeadBytes = pingNameBytes + 2;

/** A client's first bytes: its greeting, and READY at once, because NULL has no exchange between them. */
export function opening(type: SocketType): Buffer {
  const greeting = Buffer.alloc(greetingBytes);
  greeting[0] = 0xff;
  greeting[9] = 0x7f;
  // Version 3.0: subscriptions are then messages, not commands.
  greeting[10] = 3;
  greeting.write("NULL", 12, "latin1");
  const ready = Buffer.concat([name("READY"), name("Socket-Type"), sized(type), name("Identity"), sized("")]);
  return Buffer.concat([greeting, Buffer.of(flagCommand, ready.length), ready]);
}

function name(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text, "latin1")]);
}

function sized(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, Buffer.from(text, "latin1")]);
}

/** A subscription to all publishes. */
export const subscribeToAll: Buffer = Buffer.of(0, 1, 1);

/** The answer to a PING, without which libzmq closes the connection. Source: https://rfc.zeromq.org/spec/37/ (ZMTP 3.1). */
function pong(ping: Buffer): Buffer {
  const context = ping.subarray(pingHeadBytes);
  return Buffer.concat([Buffer.of(flagCommand, pingNameBytes + context.length), name("PONG"), context]);
}

/** A request as a REQ socket sends it: the empty part, then the payload. */
export function requestBytes(payload: Uint8Array): Buffer {
  if (payload.length <= 0xff) return Buffer.concat([Buffer.of(flagMore, 0, 0, payload.length), payload]);
  const bytes = Buffer.allocUnsafeSlow(11 + payload.length);
  bytes[0] = flagMore;
  bytes[1] = 0;
  bytes[2] = flagLong;
  bytes.writeBigUInt64BE(BigInt(payload.length), 3);
  bytes.set(payload, 11);
  return bytes;
}

/**
 * `isReady` after the server's greeting and READY. `onMessage` gets the last part, a view that is only valid during the call. `answer` sends bytes to
 * the server.
 */
export class MessageReader {
  isReady = false;
  readonly #onReady: () => void;
  readonly #onMessage: (payload: Buffer) => void;
  readonly #answer: (framed: Buffer) => void;
  #rest: Buffer = Buffer.alloc(0);
  #hasGreeting = false;

  constructor(
    onReady: () => void,
    onMessage: (payload: Buffer) => void,
    answer: (framed: Buffer) => void = () => undefined,
  ) {
    this.#onReady = onReady;
    this.#onMessage = onMessage;
    this.#answer = answer;
  }

  /** `chunk` may be overwritten after the call. @throws SaltworksError WIRE_MALFORMED for a peer that does not speak ZMTP 3 */
  push(chunk: Buffer): void {
    // Nearly every chunk is one short reply: the empty part and a part of less than 256 bytes.
    if (
      this.isReady &&
      this.#rest.length === 0 &&
      chunk.length > 4 &&
      chunk[0] === flagMore &&
      chunk[1] === 0 &&
      chunk[2] === 0 &&
      chunk[3] === chunk.length - 4
    ) {
      this.#onMessage(chunk.subarray(4));
      return;
    }
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (!this.#hasGreeting) {
      if (rest.length >= greetingBytes) {
        if (rest[0] !== 0xff || (rest[10] ?? 0) < 3) throw malformed("no ZMTP 3 greeting");
        this.#hasGreeting = true;
        rest = rest.subarray(greetingBytes);
      }
    }
    if (this.#hasGreeting) {
      for (let used = this.#takeFrame(rest); used > 0; used = this.#takeFrame(rest)) rest = rest.subarray(used);
    }
    this.#rest = rest.length === 0 ? rest : Buffer.from(rest);
  }

  /** @returns the bytes of the first frame, 0 if it is incomplete */
  #takeFrame(bytes: Buffer): number {
    const flags = bytes[0];
    if (flags === undefined) return 0;
    const isLong = (flags & flagLong) !== 0;
    const headBytes = isLong ? 9 : 2;
    if (bytes.length < headBytes) return 0;
    const size = isLong ? Number(bytes.readBigUInt64BE(1)) : (bytes[1] ?? 0);
    const end = headBytes + size;
    if (bytes.length < end) return 0;
    if ((flags & flagCommand) !== 0) this.#takeCommand(bytes.subarray(headBytes, end));
    else if ((flags & flagMore) === 0) this.#onMessage(bytes.subarray(headBytes, end));
    return end;
  }

  #takeCommand(body: Buffer): void {
    const command = body.toString("latin1", 1, 1 + (body[0] ?? 0));
    if (command === "ERROR") throw malformed("the server refused the connection");
    if (command === "PING") this.#answer(pong(body));
    if (command !== "READY" || this.isReady) return;
    this.isReady = true;
    this.#onReady();
  }
}

function malformed(what: string): SaltworksError {
  return new SaltworksError("WIRE_MALFORMED", what);
}
