/**
 * Bytes of answers that their clients have not read yet. Over the bound of all together the connections with the most are closed; jobs go on.
 * Streams of events have a bound of their own.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { apiAnswersUnreadBytesMax } from "../../limits.ts";
import { onceOver } from "../http/over.ts";

type Answer = Pick<ServerResponse, "writableLength">;

export class UnreadAnswers {
  /** `open` answers are not written out yet; `closed` connections had the most unread bytes when the bound was reached. */
  readonly counters = { open: 0, closed: 0 };
  readonly #bytesMax: number;
  readonly #open = new Map<Answer, Socket>();
  #isAsked = false;

  constructor(bytesMax: number = apiAnswersUnreadBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Counts an answer until it is over. `socket` is that of its request. */
  watch(socket: Socket, response: ServerResponse): void {
    this.#open.set(response, socket);
    this.counters.open = this.#open.size;
    onceOver(socket, response, () => {
      this.#open.delete(response);
      this.counters.open = this.#open.size;
    });
    this.ask();
  }

  /** Compares with the bound soon, once for all who ask meanwhile: what is sent now counts then. */
  ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    setImmediate(() => {
      this.#isAsked = false;
      this.bound();
    });
  }

  /** Closes connections with the most unread bytes until all together are within the bound. */
  bound(): void {
    const bySocket = new Map<Socket, number>();
    let sum = 0;
    for (const [{ writableLength }, socket] of this.#open) {
      if (socket.destroyed) continue;
      sum += writableLength;
      bySocket.set(socket, (bySocket.get(socket) ?? 0) + writableLength);
    }
    if (sum <= this.#bytesMax) return;
    for (const [socket, bytes] of [...bySocket].sort(([, a], [, b]) => b - a)) {
      if (sum <= this.#bytesMax) return;
      sum -= bytes;
      this.counters.closed += 1;
      socket.destroy();
    }
  }
}
