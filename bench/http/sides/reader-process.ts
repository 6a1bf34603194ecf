/**
 * Readers of `GET /events` in a process of their own. The API sends the same bytes to all of them, so that only the first one reads the events; of
 * the others it is enough to count bytes and to keep the end.
 */
import { createConnection, type Socket } from "node:net";

export type ToReaders =
  | {
      readonly kind: "open";
      readonly port: number;
      readonly id: string;
      readonly count: number;
      readonly isReading: boolean;
    }
  /** Counts from now on. Sent while there are no events. */
  | { readonly kind: "mark" }
  | { readonly kind: "look" };

/** `bytes` and `last`, the number of the last event, of each reader; `numbers` that the first reader found in events of the bench, in order. */
export type Seen = {
  readonly bytes: readonly number[];
  readonly last: readonly number[];
  readonly numbers: { readonly count: number; readonly gaps: number };
  readonly closed: number;
};
export type FromReaders = { readonly kind: "opened" } | ({ readonly kind: "seen" } & Seen);

/** Longer than the line with an event's id and the end of its chunk. */
const tailBytes = 80;
const idLine = /id: [0-9a-f]{8}-(\d+)\n\n[\s\S]*$/;
const numberText = /"number": (\d+)/g;

class Reader {
  bytes = 0;
  isClosed = false;
  readonly #socket: Socket;
  #tail: Buffer = Buffer.alloc(0);

  constructor(port: number, id: string, isReading: boolean, onHead: () => void, onData?: (chunk: Buffer) => void) {
    this.#socket = createConnection({ port, host: "127.0.0.1" });
    this.#socket.write(`GET /events HTTP/1.1\r\nhost: bench\r\nx-auth-token: ${id}\r\n\r\n`);
    this.#socket.once("data", () => {
      onHead();
      if (!isReading) this.#socket.pause();
    });
    this.#socket.on("data", (chunk: Buffer) => {
      this.bytes += chunk.byteLength;
      const end = chunk.subarray(-tailBytes);
      this.#tail = Buffer.concat(end.byteLength < tailBytes ? [this.#tail.subarray(-tailBytes), end] : [end]);
      onData?.(chunk);
    });
    this.#socket.on("error", () => undefined);
    this.#socket.once("close", () => {
      this.isClosed = true;
    });
  }

  get last(): number {
    return Number(idLine.exec(this.#tail.toString("latin1"))?.[1] ?? 0);
  }
}

const readers: Reader[] = [];
let text = "";
let numbers = { count: 0, gaps: 0, last: 0 };

/** The first reader finds each number. */
function findNumbers(chunk: Buffer): void {
  text += chunk.toString("latin1");
  let end = 0;
  for (const found of text.matchAll(numberText)) {
    const number = Number(found[1]);
    if (numbers.count > 0 && number !== numbers.last + 1) numbers.gaps += 1;
    numbers = { ...numbers, count: numbers.count + 1, last: number };
    end = found.index + found[0].length;
  }
  // A number may go on in the next chunk, so what follows the last end of a line is kept.
  text = text.slice(Math.max(end, text.lastIndexOf("\n")));
}

function tell(message: FromReaders): void {
  process.send?.(message);
}

function open({ port, id, count, isReading }: Extract<ToReaders, { kind: "open" }>): void {
  let heads = 0;
  const onHead = () => {
    heads += 1;
    if (heads === count) tell({ kind: "opened" });
  };
  for (let index = 0; index < count; index += 1)
    readers.push(new Reader(port, id, isReading, onHead, readers.length === 0 && isReading ? findNumbers : undefined));
}

process.on("message", (message: ToReaders) => {
  if (message.kind === "open") open(message);
  else if (message.kind === "mark") {
    for (const reader of readers) reader.bytes = 0;
    numbers = { count: 0, gaps: 0, last: 0 };
  } else {
    const { count, gaps } = numbers;
    const [bytes, last] = [readers.map((reader) => reader.bytes), readers.map((reader) => reader.last)];
    const closed = readers.filter(({ isClosed }) => isClosed).length;
    tell({ kind: "seen", bytes, last, numbers: { count, gaps }, closed });
  }
});
process.once("disconnect", () => process.exit());
