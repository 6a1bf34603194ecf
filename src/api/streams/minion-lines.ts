/** Tells a client how a job goes on, minion by minion: a line for each change until the job is over. */
import type { EventHub } from "../../client/event-hub.ts";
import { apiJobLookMs } from "../../limits.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";

/** One page of the runner `jobs.minions`. @throws ApiError, SaltworksError */
export type ReadPage = (kwargs: ValueMap) => Promise<ValueMap>;

type Options = {
  readonly jid: string;
  readonly kwargs: ValueMap;
  readonly readPage: ReadPage;
  readonly hub: Pick<EventHub, "watch">;
  readonly signal: AbortSignal;
  readonly tell: (line: Encodable) => void;
};

/** Resolves when the job is over, with the numbers of its minions in each state; undefined at the end of the signal. */
export async function tellMinions({ jid, kwargs, readPage, hub, signal, tell }: Options): Promise<Value | undefined> {
  const states = new Map<string, string>();
  const events = new JobEvents(jid, hub, signal);
  try {
    for (let sinceMs = 0; ; ) {
      const { over, counts, nowMs } = await tellChanges(
        states,
        readPage,
        new Map([...kwargs, ["since_ms", sinceMs]]),
        tell,
      );
      if (over) return counts;
      sinceMs = nowMs;
      await events.next();
      if (signal.aborted) return undefined;
    }
  } finally {
    events.close();
  }
}

type Look = { readonly over: boolean; readonly counts: Value; readonly nowMs: number };

async function tellChanges(
  states: Map<string, string>,
  readPage: ReadPage,
  kwargs: ValueMap,
  tell: (line: Encodable) => void,
): Promise<Look> {
  let look: Look | undefined;
  for (let after: Value = ""; ; ) {
    const page = await readPage(new Map([...kwargs, ["after", after]]));
    // The first page's time counts: what changes while the others are read is told at the next look.
    look ??= { over: page.get("Over") === true, counts: page.get("Counts") ?? null, nowMs: Number(page.get("Now")) };
    const minions = page.get("Minions");
    for (const [id, shown] of minions instanceof Map ? minions : []) {
      const state = shown instanceof Map ? String(shown.get("State")) : "";
      if (states.get(String(id)) === state) continue;
      states.set(String(id), state);
      tell(new Map<Encodable, Encodable>([["id", id], ...(shown instanceof Map ? shown : [])]));
    }
    const next = page.get("Next") ?? null;
    if (next === null) return look;
    after = next;
  }
}

/** Waits for events of one job: of its returns and its end, and of its steps if it is a batch. */
class JobEvents {
  readonly #unwatch: () => void;
  readonly #signal: AbortSignal;
  #isNew = false;
  #wake: (() => void) | undefined;

  constructor(jid: string, hub: Pick<EventHub, "watch">, signal: AbortSignal) {
    const starts = [`salt/job/${jid}/`, `saltworks/job/${jid}/`, `saltworks/batch/${jid}/`].map((tag) =>
      Buffer.from(tag),
    );
    this.#signal = signal;
    this.#unwatch = hub.watch((body) => {
      if (!starts.some((start) => start.equals(body.subarray(0, start.length)))) return;
      this.#isNew = true;
      this.#wake?.();
    });
  }

  /** Resolves after an event, but not too soon after the last look; without events after a longer time, because find_job changes states without one. */
  async next(): Promise<void> {
    await this.#pause(apiJobLookMs.least);
    if (!this.#isNew) await this.#pause(apiJobLookMs.most, true);
    this.#isNew = false;
  }

  close(): void {
    this.#unwatch();
  }

  async #pause(ms: number, isEndedByEvent = false): Promise<void> {
    if (this.#signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, ms);
      const signal = this.#signal;
      function end(): void {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      }
      signal.addEventListener("abort", end, { once: true });
      this.#wake = isEndedByEvent ? end : undefined;
    });
    this.#wake = undefined;
  }
}
