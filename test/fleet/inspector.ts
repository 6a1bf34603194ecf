/**
 * Node's inspector of a running program, which can end or hang threads of the program; the program itself has no command for it.
 * Sources: RFC 6455 (as much of it as the inspector speaks), Chrome DevTools Protocol, Node's domain `NodeWorker`.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const answerTimeoutMs = 20_000;
const unawaitedId = 0;
const textFrame = 0x81;
const maskBit = 0x80;
const shortMax = 125;
const mark16 = 126;

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId: string; readonly message?: string };
  readonly result?: { readonly result?: { readonly value?: unknown } };
};

function encodeText(text: string): Buffer {
  const body = Buffer.from(text, "utf8");
  const mask = randomBytes(4);
  for (const [index, byte] of body.entries()) body[index] = byte ^ (mask[index % 4] ?? 0);
  const head = body.length <= shortMax ? Buffer.from([textFrame, maskBit | body.length]) : Buffer.alloc(4);
  if (body.length > shortMax) {
    head.writeUInt16BE((textFrame << 8) | maskBit | mark16, 0);
    head.writeUInt16BE(body.length, 2);
  }
  return Buffer.concat([head, mask, body]);
}

/** The text of the first complete frame; undefined until it is complete. */
function decodeText(bytes: Buffer): { readonly text: string; readonly end: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1);
  const headBytes = short <= shortMax ? 2 : short === mark16 ? 4 : 10;
  if (bytes.length < headBytes) return undefined;
  const length = headBytes === 2 ? short : headBytes === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const end = headBytes + length;
  return bytes.length < end ? undefined : { text: bytes.toString("utf8", headBytes, end), end };
}

export class Inspector {
  readonly #socket: Socket;
  readonly #answers = new Map<number, (message: Message) => void>();
  /** Threads that the inspector has reported and that have not ended, oldest first. */
  readonly #sessions = new Set<string>();
  #bytes: Buffer = Buffer.alloc(0);
  #lastId = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** `said`: the output of the program, started with `--inspect=127.0.0.1:0`. */
  static async open(said: string): Promise<Inspector> {
    const [, port = "", path = ""] = /ws:\/\/127\.0\.0\.1:(\d+)(\/\S+)/.exec(said) ?? [];
    assert.notEqual(port, "", "the program's inspector listens");
    const socket = connect(Number(port), "127.0.0.1");
    const key = randomBytes(16).toString("base64");
    const headers = "Host: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13";
    socket.write(`GET ${path} HTTP/1.1\r\n${headers}\r\nSec-WebSocket-Key: ${key}\r\n\r\n`);
    const [greeting] = (await once(socket, "data", { signal: AbortSignal.timeout(answerTimeoutMs) })) as [Buffer];
    assert.match(greeting.toString("latin1"), /^HTTP\/1\.1 101 /);
    const inspector = new Inspector(socket);
    socket.on("data", (data: Buffer) => inspector.#take(data));
    await inspector.#ask((id) => ({ id, method: "NodeWorker.enable", params: { waitForDebuggerOnStart: false } }));
    return inspector;
  }

  /** Evaluates code in the thread of this name, without waiting for the result. */
  async runIn(threadName: string, expression: string): Promise<void> {
    const ownName = 'process.getBuiltinModule("fs").readFileSync("/proc/thread-self/comm", "utf8").trim()';
    for (const session of this.#sessions) {
      const { result } = await this.#ask((id) => inner(session, id, ownName));
      if (result?.result?.value !== threadName) continue;
      this.#lastId += 1;
      this.#send(inner(session, this.#lastId, expression));
      return;
    }
    assert.fail(`no thread ${threadName}`);
  }

  close(): void {
    this.#socket.destroy();
  }

  async #ask(messageOf: (id: number) => object): Promise<Message> {
    this.#lastId += 1;
    const id = this.#lastId;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Message>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error("the inspector does not answer")), answerTimeoutMs);
        this.#answers.set(id, resolve);
        this.#send(messageOf(id));
      });
    } finally {
      clearTimeout(timer);
      this.#answers.delete(id);
    }
  }

  #send(message: object): void {
    this.#socket.write(encodeText(JSON.stringify(message)));
  }

  #take(data: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, data]);
    for (let frame = decodeText(this.#bytes); frame !== undefined; frame = decodeText(this.#bytes)) {
      this.#bytes = this.#bytes.subarray(frame.end);
      this.#hear(JSON.parse(frame.text) as Message);
    }
  }

  #hear({ id, method, params, result }: Message): void {
    const session = params?.sessionId ?? "";
    if (method === "NodeWorker.attachedToWorker") this.#sessions.add(session);
    else if (method === "NodeWorker.detachedFromWorker") this.#sessions.delete(session);
    else if (method === "NodeWorker.receivedMessageFromWorker")
      this.#hear(JSON.parse(params?.message ?? "{}") as Message);
    else if (id !== undefined) this.#answers.get(id)?.({ id, ...(result === undefined ? {} : { result }) });
  }
}

/** Sends a message to a thread. Only the inner id is answered; no caller waits for the outer one. */
function inner(sessionId: string, id: number, expression: string): object {
  const message = JSON.stringify({ id, method: "Runtime.evaluate", params: { expression, returnByValue: true } });
  return { id: unawaitedId, method: "NodeWorker.sendMessageToWorker", params: { sessionId, message } };
}
