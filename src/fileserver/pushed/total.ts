/**
 * Bounds what all minions push. Counts their files at the start of the file server, then adds each push. Counts again at the bound, because an
 * operator may have removed files. Pushes continue during a count: it may count a push twice, but never misses one.
 */
import { within } from "../../deadline.ts";
import { pushedCountWaitMs, pushedRecountRest, pushedTotalRecountMs, pushesWaitingMax } from "../../limits.ts";
import { addUsageOfAll, exceeded, type Usage, type UsageBounds } from "./usage.ts";

export class PushedTotal {
  readonly #minions: string;
  readonly #bounds: UsageBounds;
  readonly #nowMs: () => number;
  readonly #waitMs: number;
  #known: Usage | undefined;
  #waitingCount = 0;
  #counting: Promise<void> | undefined;
  #fault: unknown;
  #countedMs = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  /** Reservations that are not settled: their files may not be on disk yet. */
  readonly #underWay = new Set<Usage>();
  /** Sum of the reservations made during the count, and of those not settled when it began. */
  #beside: Usage = { entries: 0, bytes: 0 };

  /** @param minions `cachedir/minions` */
  constructor(
    minions: string,
    bounds: UsageBounds,
    nowMs: () => number = () => performance.now(),
    waitMs = pushedCountWaitMs,
  ) {
    this.#minions = minions;
    this.#bounds = bounds;
    this.#nowMs = nowMs;
    this.#waitMs = waitMs;
  }

  /** Undefined until the first count ends. */
  get known(): Readonly<Usage> | undefined {
    return this.#known;
  }

  /** Starts a count, unless one runs. The next push throws the count's error. */
  begin(): Promise<void> {
    this.#counting ??= this.#count().finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }

  /** Waits for the first count. If `more` exceeds a bound, waits for a new count, if one is due. @throws the file system's error */
  async prepare(more: Usage): Promise<void> {
    if (this.#known === undefined || exceeded(this.#known, more, this.#bounds) !== undefined) {
      const restMs = Math.max(pushedTotalRecountMs, pushedRecountRest * this.#tookMs);
      if (this.#nowMs() - this.#countedMs >= restMs) void this.begin();
      await this.#waitForCount();
    }
    if (this.#known === undefined && this.#fault !== undefined) throw this.#fault;
  }

  /** Waits at most `#waitMs`. At most `pushesWaitingMax` pushes wait, because each occupies a slot for file requests; others do not wait. */
  async #waitForCount(): Promise<void> {
    if (this.#counting === undefined || this.#waitingCount >= pushesWaitingMax) return;
    this.#waitingCount += 1;
    try {
      await within(this.#counting, this.#waitMs, () => undefined);
    } finally {
      this.#waitingCount -= 1;
    }
  }

  /** Reserves room. Call `settle` afterwards. @returns the bound that `more` would exceed */
  take(more: Usage): keyof Usage | "uncounted" | undefined {
    if (this.#known === undefined) return "uncounted";
    const refusal = exceeded(this.#known, more, this.#bounds);
    if (refusal !== undefined) return refusal;
    this.#underWay.add(more);
    add(this.#known, more);
    this.#addBeside(more);
    return undefined;
  }

  /** Ends a reservation. `unused`: the part to release, because it did not reach the disk. */
  settle(more: Usage, unused: Usage | undefined): void {
    this.#underWay.delete(more);
    if (unused !== undefined && this.#known !== undefined)
      add(this.#known, { entries: -unused.entries, bytes: -unused.bytes });
  }

  /** Ignores negative growth, because the count may already have seen the smaller file. */
  #addBeside({ entries, bytes }: Usage): void {
    add(this.#beside, { entries: Math.max(0, entries), bytes: Math.max(0, bytes) });
  }

  async #count(): Promise<void> {
    const startedMs = this.#nowMs();
    this.#beside = { entries: 0, bytes: 0 };
    for (const more of this.#underWay) this.#addBeside(more);
    const counted = { entries: 0, bytes: 0 };
    try {
      await addUsageOfAll(this.#minions, counted, this.#bounds);
      add(counted, this.#beside);
      this.#known = counted;
      this.#fault = undefined;
    } catch (error) {
      this.#fault = error;
    }
    this.#countedMs = this.#nowMs();
    this.#tookMs = this.#countedMs - startedMs;
  }
}

function add(usage: Usage, more: Usage): void {
  usage.entries += more.entries;
  usage.bytes += more.bytes;
}
