/** Readers of `GET /events`, some hundred in each of a few processes. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { SaltworksError } from "../../../src/errors.ts";
import type { FromReaders, Seen, ToReaders } from "./reader-process.ts";

const script = fileURLToPath(new URL("reader-process.js", import.meta.url));
const lookMs = 250;

/** What readers saw since the last mark. */
export type ReadersSaw = {
  readonly readers: number;
  /** Bytes of the reader that got the fewest and of the one that got the most. */
  readonly bytesLeast: number;
  readonly bytesMost: number;
  /** Events of the bench that the first reader found. `gaps`: numbers out of turn, because events fired over two connections may pass each other. */
  readonly events: number;
  readonly gaps: number;
  readonly closed: number;
};

export class Readers {
  readonly #children: readonly ChildProcess[];

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children;
  }

  /** Resolves when all streams are open. `isReading` false: they read their head and no event. */
  static async open(o: {
    readonly port: number;
    readonly id: string;
    readonly count: number;
    readonly processes: number;
    readonly isReading: boolean;
  }): Promise<Readers> {
    const { port, id, count, processes, isReading } = o;
    const children = Array.from({ length: processes }, () => fork(script));
    const readers = new Readers(children);
    await Promise.all(
      children.map(async (child, index) => {
        const own = Math.floor((count * (index + 1)) / processes) - Math.floor((count * index) / processes);
        const opened = once(child, "message");
        send(child, { kind: "open", port, id, count: own, isReading });
        await opened;
      }),
    );
    return readers;
  }

  mark(): void {
    for (const child of this.#children) send(child, { kind: "mark" });
  }

  async saw(): Promise<ReadersSaw> {
    return summaryOf(await this.#look());
  }

  /** Resolves when all have the same last event twice. @throws SaltworksError TASK_TIMEOUT */
  async untilEqual(timeoutMs: number): Promise<ReadersSaw> {
    const endMs = performance.now() + timeoutMs;
    let before = "";
    for (;;) {
      const seen = await this.#look();
      const last = new Set(seen.flatMap((each) => each.last));
      const now = last.size === 1 ? [...last].join() : "";
      if (now !== "" && now === before) return summaryOf(seen);
      if (performance.now() > endMs)
        throw new SaltworksError(
          "TASK_TIMEOUT",
          `readers are apart after ${timeoutMs} ms: ${JSON.stringify(summaryOf(seen))}, at ${Math.min(...last)} to ${Math.max(...last)}`,
        );
      before = now;
      await wait(lookMs);
    }
  }

  close(): void {
    for (const child of this.#children) if (child.connected) child.disconnect();
  }

  async #look(): Promise<Seen[]> {
    return await Promise.all(
      this.#children.map(async (child) => {
        const answered = once(child, "message");
        send(child, { kind: "look" });
        const [answer] = (await answered) as [FromReaders];
        if (answer.kind !== "seen") throw new TypeError("a reader answered out of turn");
        return answer;
      }),
    );
  }
}

function send(child: ChildProcess, message: ToReaders): void {
  child.send(message);
}

function summaryOf(seen: readonly Seen[]): ReadersSaw {
  const bytes = seen.flatMap((each) => each.bytes);
  return {
    readers: bytes.length,
    bytesLeast: Math.min(...bytes),
    bytesMost: Math.max(...bytes),
    events: seen[0]?.numbers.count ?? 0,
    gaps: seen[0]?.numbers.gaps ?? 0,
    closed: seen.reduce((sum, each) => sum + each.closed, 0),
  };
}
