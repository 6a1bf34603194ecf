/**
 * Sends jobs' returns to the master, one after the other, with several tries each.
 * Source: docs/protocol.md sections 1.3 (`return_retry_*`) and 9.
 */
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { minionReturnQueueBytesMax, minionReturnQueueMax } from "../../limits.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { now, stampText } from "../functions/clock-text.ts";
import type { Load, Session } from "./session.ts";

type Waiting = { readonly load: Load; readonly bytes: number; readonly jid: string };
type ReturnConfig = Pick<
  MinionConfig,
  "id" | "pub_ret" | "return_retry_timer" | "return_retry_timer_max" | "return_retry_tries"
>;

export class ReturnSender {
  readonly #session: Pick<Session, "request">;
  readonly #config: ReturnConfig;
  readonly #log: Logger;
  readonly #queue: Waiting[] = [];
  #queuedBytes = 0;
  #isSending = false;
  #lostCount = 0;

  constructor(session: Pick<Session, "request">, config: ReturnConfig, log: Logger) {
    this.#session = session;
    this.#config = config;
    this.#log = log;
  }

  /** Number of lost returns: every try failed, or the queue was full. */
  get lostCount(): number {
    return this.#lostCount;
  }

  /** Queues a return. `members`: its fields in order. `bytes`: their approximate size. Logs the outcome. */
  send(members: ValueMap, bytes: number): void {
    if (!this.#config.pub_ret) return;
    const jid = String(members.get("jid"));
    if (this.#queue.length >= minionReturnQueueMax || this.#queuedBytes + bytes > minionReturnQueueBytesMax) {
      this.#lostCount += 1;
      this.#log.error(
        { jid, waiting: this.#queue.length, bytes: this.#queuedBytes },
        "a return is lost: the queue of returns is full",
      );
      return;
    }
    this.#queue.push({ load: loadOf(this.#config.id, members), bytes, jid });
    this.#queuedBytes += bytes;
    if (!this.#isSending) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#isSending = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      await this.#sendOne(next);
      this.#queuedBytes -= next.bytes;
    }
    this.#isSending = false;
  }

  async #sendOne({ load, jid }: Waiting): Promise<void> {
    const options = { timeoutMs: returnTimeoutMs(this.#config), tries: this.#config.return_retry_tries };
    try {
      await this.#session.request(load, options);
    } catch (error) {
      this.#lostCount += 1;
      this.#log.warn(
        { err: error, jid },
        "the minion failed to return the job; is the master running, and are its worker_threads enough?",
      );
    }
  }
}

/** A random time between both options, so that a fleet's retries spread. */
export function returnTimeoutMs(config: Pick<ReturnConfig, "return_retry_timer" | "return_retry_timer_max">): number {
  const { return_retry_timer: least, return_retry_timer_max: most } = config;
  const seconds = most > least ? least + Math.random() * (most - least) : least;
  return Math.max(1, Math.round(seconds * 1_000));
}

/** Makes the load. `_stamp` comes last: in Salt the minion's event bus adds it. */
function loadOf(id: string, members: ReadonlyMap<Value, Value>): Load {
  const load: { [key: string]: Value } = { cmd: "_return", id };
  for (const [key, value] of members) load[String(key)] = value;
  return { ...load, _stamp: stampText(now()) };
}
