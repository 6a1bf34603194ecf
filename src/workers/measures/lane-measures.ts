/**
 * Asks the threads of all lanes for their measures. Lane threads cannot be addressed, and start and end with the work, so the question is a
 * broadcast. Between two questions the channel wakes no thread, and it keeps no thread alive.
 */
import { BroadcastChannel } from "node:worker_threads";
import { type ThreadMeasures, ThreadMeter } from "./thread-meter.ts";

const channelName = "saltworks-lane-measures";

type Question = { readonly ask: number };
type Answer = { readonly answers: number; readonly thread: string; readonly measures: ThreadMeasures };
type Heard = { readonly data: Question | Answer };

/** Answers the questions of `LaneMeasuresReader`. A lane's thread calls this as it starts. */
export function answerForMeasures(thread: string): void {
  const meter = new ThreadMeter();
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = (event: unknown) => {
    const { data } = event as Heard;
    if (!("ask" in data)) return;
    channel.postMessage({ answers: data.ask, thread, measures: meter.read() } satisfies Answer);
  };
  channel.unref();
}

type Look = { readonly found: Map<string, ThreadMeasures>; readonly isComplete: () => void; readonly count: number };

/** Reads the measures of all lanes, on the main thread. */
export class LaneMeasuresReader {
  readonly #channel = new BroadcastChannel(channelName);
  readonly #looks = new Map<number, Look>();
  #lastAsk = 0;

  constructor() {
    this.#channel.onmessage = (event: unknown) => this.#hear((event as Heard).data);
    this.#channel.unref();
  }

  /**
   * Resolves with the measures by thread name, once `threadCount` threads have answered or after `timeoutMs`. A thread that a long task keeps
   * from answering is left out.
   */
  async read(threadCount: number, timeoutMs: number): Promise<ReadonlyMap<string, ThreadMeasures>> {
    const found = new Map<string, ThreadMeasures>();
    if (threadCount === 0) return found;
    this.#lastAsk += 1;
    const ask = this.#lastAsk;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
      this.#looks.set(ask, { found, isComplete: resolve, count: threadCount });
      this.#channel.postMessage({ ask } satisfies Question);
    });
    clearTimeout(timer);
    this.#looks.delete(ask);
    return found;
  }

  close(): void {
    this.#channel.close();
  }

  #hear(data: Question | Answer): void {
    if (!("answers" in data)) return;
    const look = this.#looks.get(data.answers);
    look?.found.set(data.thread, data.measures);
    if (look !== undefined && look.found.size >= look.count) look.isComplete();
  }
}
