/** Bounds what each minion pushes, so that it cannot fill the master's disk. Counts its files at its first push, then adds each push. */
import { pushedRecountMs, pushedUsagesMax } from "../../limits.ts";
import type { PushedTotal } from "./total.ts";
import { addUsage, exceeded, type PushRefusal, type Usage, type UsageBounds } from "./usage.ts";

type Counted = Usage & { countedMs: number };

const refusals = {
  minion: { entries: "file_recv_minion_max_files", bytes: "file_recv_minion_max_size" },
  total: {
    entries: "file_recv_total_max_files",
    bytes: "file_recv_total_max_size",
    uncounted: "uncounted",
  },
} as const;

export class PushedUsage {
  /** The total of all minions. */
  readonly total: PushedTotal;
  readonly #bounds: UsageBounds;
  readonly #nowMs: () => number;
  /** By the minion's directory, least recently used first. */
  readonly #known = new Map<string, Counted>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(bounds: UsageBounds, total: PushedTotal, nowMs: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.total = total;
    this.#nowMs = nowMs;
  }

  /** Runs the steps of one minion one after the other, so that each push counts the one before. */
  async inTurn<Result>(root: string, step: () => Promise<Result>): Promise<Result> {
    const before = this.#turns.get(root) ?? Promise.resolve();
    const turn = before.then(step, step);
    this.#turns.set(root, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(root) === turn) this.#turns.delete(root);
    }
  }

  /** Reserves room for `more`. Call `settle` afterwards. @returns the bound that `more` would exceed */
  async take(root: string, more: Usage): Promise<PushRefusal | undefined> {
    let known = this.#known.get(root) ?? (await this.#count(root));
    const isOld = this.#nowMs() - known.countedMs >= pushedRecountMs;
    if (isOld && exceeded(known, more, this.#bounds) !== undefined) known = await this.#count(root);
    this.#keep(root, known);
    const ofMinion = exceeded(known, more, this.#bounds);
    if (ofMinion !== undefined) return refusals.minion[ofMinion];
    await this.total.prepare(more);
    const ofAll = this.total.take(more);
    if (ofAll !== undefined) return refusals.total[ofAll];
    known.entries += more.entries;
    known.bytes += more.bytes;
    return undefined;
  }

  /** Ends a reservation. `unused`: the part to release, because it did not reach the disk. */
  settle(root: string, more: Usage, unused?: Usage): void {
    this.total.settle(more, unused);
    const known = this.#known.get(root);
    if (known === undefined || unused === undefined) return;
    known.entries -= unused.entries;
    known.bytes -= unused.bytes;
  }

  #keep(root: string, known: Counted): void {
    this.#known.delete(root);
    this.#known.set(root, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > pushedUsagesMax && oldest !== undefined) this.#known.delete(oldest);
  }

  async #count(root: string): Promise<Counted> {
    const counted = { entries: 0, bytes: 0, countedMs: this.#nowMs() };
    await addUsage(root, counted, this.#bounds);
    return counted;
  }
}
