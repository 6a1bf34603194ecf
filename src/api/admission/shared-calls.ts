/**
 * Calls that only read, shared by requests of one session from one address: a crowd of readers costs the master one call at a time. A request
 * never shares a call that began before it came, so that its answer is as fresh as an own call's. Not more entries than requests under way.
 */
import { setImmediate as endOfTurn } from "node:timers/promises";

export class SharedCalls<Result> {
  /** `shared`: requests that were answered by another one's call. */
  readonly counters = { calls: 0, shared: 0 };
  readonly #running = new Map<string, Promise<Result>>();
  /** Each begins when the running one of the same key is over. */
  readonly #next = new Map<string, Promise<Result>>();

  /** @throws what `call` throws, for all that share it */
  async ask(key: string, call: () => Promise<Result>): Promise<Result> {
    const next = this.#next.get(key);
    if (next !== undefined) {
      this.counters.shared += 1;
      return await next;
    }
    // Without a running call it begins at the end of the turn: requests that came together share it.
    const running = this.#running.get(key) ?? endOfTurn();
    const begin = () => {
      this.#next.delete(key);
      return this.#begin(key, call);
    };
    const following: Promise<Result> = running.then(begin, begin);
    this.#next.set(key, following);
    return await following;
  }

  #begin(key: string, call: () => Promise<Result>): Promise<Result> {
    this.counters.calls += 1;
    const end = () => void this.#running.delete(key);
    const running = call();
    this.#running.set(key, running);
    running.then(end, end);
    return running;
  }
}
