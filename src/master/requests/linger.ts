/**
 * Decides how long a request waits for others, so that one batch serves several. A batch costs as much as ten of its requests, so under a light load,
 * where each request would be a batch of its own, a short wait saves most of the CPU. docs/decisions/0028-light-load.md has the figures.
 */

/** Requests before this time hardly count in the rate, milliseconds. */
const rateWindowMs = 200;
/** From this size on a batch costs little more per request than a larger one. */
const framesWanted = 8;
/** Requests, or bytes, that wait for no others: they cost much more than their batch. */
const framesEnough = 2 * framesWanted;
const bytesEnough = 512 * 1024;
/** A client that asks again sooner than after this many waits works through a list, and each wait would be added to its time. */
const chainedWaits = 2;

/** The connection's part: when the last reply left, by `performance.now()`. */
type Asker = { readonly answeredMs: number };
type Waiting = { holds(frames: number, bytes: number): boolean };

export class Linger {
  readonly #maxMs: number;
  /** The requests of the last `rateWindowMs`, older ones weighted less. */
  #recent = 0;
  #notedMs = 0;

  /** `maxMs`: whole milliseconds; 0: no request waits. */
  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** Notes a request. @returns the milliseconds that its batch may wait; 0 if no other request is likely to come in time, or enough wait already */
  delayMs({ answeredMs }: Asker, nowMs: number, waiting: Waiting): number {
    if (this.#maxMs === 0) return 0;
    this.#recent = this.#recent * Math.exp((this.#notedMs - nowMs) / rateWindowMs) + 1;
    this.#notedMs = nowMs;
    const perMs = this.#recent / rateWindowMs;
    if (perMs * this.#maxMs < 1 || waiting.holds(framesEnough, bytesEnough)) return 0;
    const waitMs = Math.min(this.#maxMs, Math.floor(framesWanted / perMs));
    return nowMs - answeredMs < chainedWaits * waitMs ? 0 : waitMs;
  }
}
