/**
 * A REQ socket over Node's own sockets: sends one request at a time to a ROUTER and reads its reply. zeromq.js would hand both to a thread of its own,
 * which costs more than the request itself. Source: the specifications that frames.ts names, and https://rfc.zeromq.org/spec/28/.
 */
import { createConnection, type Socket } from "node:net";
import { SaltworksError } from "../../errors.ts";
import { replyBytesMax, requestPartsMax, requestReconnectMs, zmtpCommandBytesMax } from "../../limits.ts";
import { BodyBuffers, kept } from "./bodies/body-buffers.ts";
import { commandFrame, type Framing, readCommand, replyFrame } from "./frames.ts";
import { Greeting, isReadyOfPartner, requesterRole, signature } from "./handshake.ts";
import { type MessageFault, MessageReader, type MessageVerdict } from "./message-reader.ts";

export type RequesterAddress = { readonly host: string; readonly port: number };
export type RequestOptions = { readonly timeoutMs: number; readonly signal?: AbortSignal };

type UnderWay = {
  readonly payload: Uint8Array;
  isSent: boolean;
  readonly end: (outcome: { readonly reply: Buffer } | { readonly error: unknown }) => void;
};

const noBytes = Buffer.alloc(0);
const bodies = new BodyBuffers();

export class Requester {
  readonly #address: RequesterAddress;
  #link: Link | undefined;
  #underWay: UnderWay | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(address: RequesterAddress) {
    this.#address = address;
  }

  /**
   * Sends `payload` (do not change it until the promise settles). While no program listens, connects again until the timeout, as ZeroMQ does. A request
   * that was sent is not sent again, because the master may have run it.
   *
   * @returns the reply's last part
   * @throws SaltworksError REQUEST_TIMEOUT, MASTER_UNREACHABLE if the connection ends before the reply, what `abandon` gives; the signal's reason
   */
  request(payload: Uint8Array, { timeoutMs, signal }: RequestOptions): Promise<Buffer> {
    if (this.#underWay !== undefined) return Promise.reject(new TypeError("a request is under way"));
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<Buffer>((resolve, reject) => {
      const onAbort = () => this.abandon(signal?.reason);
      const timer = setTimeout(() => this.abandon(this.#timedOut(timeoutMs)), timeoutMs);
      const end: UnderWay["end"] = (outcome) => {
        clearTimeout(timer);
        clearTimeout(this.#retry);
        signal?.removeEventListener("abort", onAbort);
        this.#underWay = undefined;
        this.#link?.rest();
        if ("error" in outcome) reject(outcome.error);
        else resolve(outcome.reply);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#underWay = { payload, isSent: false, end };
      this.#send();
    });
  }

  /** Rejects the request under way, and forgets the connection: a late reply is lost. A later request gets a new connection. */
  abandon(error: unknown): void {
    this.#link?.close();
    this.#link = undefined;
    this.#underWay?.end({ error });
  }

  /** Sends the request under way, once the connection is ready. */
  #send(): void {
    const { host, port } = this.#address;
    this.#link ??= new Link(createConnection({ host, port, noDelay: true }), {
      onReady: () => this.#send(),
      onReply: (reply) => this.#underWay?.end({ reply }),
      onClosed: (error) => this.#lose(error),
    });
    const { underWay, link } = { underWay: this.#underWay, link: this.#link };
    if (underWay === undefined || underWay.isSent || !link.isReady) return;
    underWay.isSent = true;
    link.send(underWay.payload);
  }

  #lose(cause: Error | undefined): void {
    this.#link = undefined;
    const { host, port } = this.#address;
    if (this.#underWay === undefined) return;
    if (!this.#underWay.isSent && !(cause instanceof SaltworksError)) {
      this.#retry = setTimeout(() => this.#send(), requestReconnectMs);
      return;
    }
    const text = `the connection to ${host}:${port} ended before the reply`;
    this.#underWay.end({ error: new SaltworksError("MASTER_UNREACHABLE", text, { host, port }, { cause }) });
  }

  #timedOut(timeoutMs: number): SaltworksError {
    const { host, port } = this.#address;
    return new SaltworksError("REQUEST_TIMEOUT", `no reply from ${host}:${port}`, { host, port, timeoutMs });
  }
}

type LinkEvents = {
  readonly onReady: () => void;
  readonly onReply: (reply: Buffer) => void;
  /** Not called after `close`. */
  readonly onClosed: (error: Error | undefined) => void;
};

/** One connection: greets, then carries requests and replies. */
class Link {
  /** Whether the other end has greeted as a ROUTER. */
  isReady = false;
  readonly #socket: Socket;
  readonly #events: LinkEvents;
  #greeting: Greeting | undefined = new Greeting(requesterRole);
  #greetingBytes: Buffer = noBytes;
  #framing: Framing = "new";
  #awaitsName = false;
  #reader: MessageReader | undefined;
  #isClosed = false;

  constructor(socket: Socket, events: LinkEvents) {
    this.#socket = socket;
    this.#events = events;
    let failure: Error | undefined;
    socket.on("error", (error) => {
      failure = error;
    });
    socket.once("close", () => {
      this.#reader?.close();
      if (!this.#isClosed) events.onClosed(failure);
    });
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.write(signature);
  }

  send(payload: Uint8Array): void {
    this.#socket.ref();
    this.#socket.write(replyFrame(payload, this.#framing));
  }

  /** Between two requests the connection keeps no program running. */
  rest(): void {
    this.#socket.unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    const bytes = this.#greeting === undefined ? chunk : this.#greet(this.#greeting, chunk);
    if (bytes.length === 0 || this.#reader === undefined) return;
    const result = this.#reader.push(bytes);
    if ("fault" in result) this.#fail(result.fault);
  }

  #fail(fault: MessageFault): void {
    this.#socket.destroy(new SaltworksError("WIRE_MALFORMED", `the request port's bytes cannot be read: ${fault}`));
  }

  /** @returns what follows the greeting */
  #greet(greeting: Greeting, chunk: Buffer): Buffer {
    const received = Buffer.concat([this.#greetingBytes, chunk]);
    const step = greeting.read(received);
    if (step.kind === "malformed") {
      this.#fail("malformed");
      return noBytes;
    }
    if (step.send.length > 0) this.#socket.write(step.send);
    this.#greetingBytes = received;
    if (step.kind === "wait") return noBytes;
    this.#greeting = undefined;
    this.#greetingBytes = noBytes;
    this.#framing = step.handshake.framing;
    this.#awaitsName = step.handshake.firstFrame === "name";
    this.#reader = this.#messageReader();
    return received.subarray(step.used);
  }

  #messageReader(): MessageReader {
    return new MessageReader({
      framing: this.#framing,
      partsMax: requestPartsMax,
      messageBytesMax: replyBytesMax,
      commandBytesMax: zmtpCommandBytesMax,
      bodies,
      mayShare: () => false,
      largeBytes: replyBytesMax,
      mayBeLarge: () => true,
      onMessage: (parts) => this.#onMessage(parts),
      onCommand: (body) => this.#onCommand(body),
    });
  }

  #onMessage(parts: readonly Buffer[]): MessageVerdict {
    if (this.isReady) this.#events.onReply(kept(parts.at(-1) ?? noBytes));
    else if (!this.#awaitsName) return "malformed";
    else this.#becomeReady();
    return "go";
  }

  #onCommand(body: Buffer): MessageVerdict {
    if (!this.isReady) {
      if (this.#awaitsName || !isReadyOfPartner(body, requesterRole)) return "malformed";
      this.#becomeReady();
      return "go";
    }
    const command = readCommand(body);
    if (command === undefined || command.name === "ERROR") return "malformed";
    // A PING has a time to live, two bytes, before the context that its PONG repeats.
    if (command.name === "PING") this.#socket.write(commandFrame("PONG", Buffer.from(command.body.subarray(2, 18))));
    return "go";
  }

  #becomeReady(): void {
    this.isReady = true;
    this.#events.onReady();
  }
}
