/** What each minion's pushed files take, so that no minion fills the master's disk: counted at its first push, then kept current. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pushedRecountMs, pushedUsagesMax } from "../limits.ts";
import { isNotThere } from "./roots.ts";

/** `entries`: files and directories. */
export type Usage = { entries: number; bytes: number };
type Counted = Usage & { countedMs: number };
type Bounds = { readonly entriesMax: number; readonly bytesMax: number };

export class PushedUsage {
  /** Pieces for which there was no room. */
  refused = 0;
  readonly #bounds: Bounds;
  readonly #nowMs: () => number;
  /** By the minion's directory; the one asked for longest ago goes first. */
  readonly #known = new Map<string, Counted>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(bounds: Bounds, nowMs: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#nowMs = nowMs;
  }

  /** One push of a minion after the other: what one adds counts for the next. */
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

  /** Whether so much more has room. It counts from now on. */
  async take(root: string, more: Usage): Promise<boolean> {
    let known = this.#known.get(root) ?? (await this.#count(root));
    const isOld = () => this.#nowMs() - known.countedMs >= pushedRecountMs;
    if (!this.#hasRoom(known, more) && isOld()) known = await this.#count(root);
    this.#keep(root, known);
    if (!this.#hasRoom(known, more)) {
      this.refused += 1;
      return false;
    }
    known.entries += more.entries;
    known.bytes += more.bytes;
    return true;
  }

  #hasRoom(known: Usage, more: Usage): boolean {
    const { entriesMax, bytesMax } = this.#bounds;
    return (
      (more.entries <= 0 || known.entries + more.entries <= entriesMax) &&
      (more.bytes <= 0 || known.bytes + more.bytes <= bytesMax)
    );
  }

  #keep(root: string, known: Counted): void {
    this.#known.delete(root);
    this.#known.set(root, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > pushedUsagesMax && oldest !== undefined) this.#known.delete(oldest);
  }

  async #count(root: string): Promise<Counted> {
    const counted = { entries: 0, bytes: 0, countedMs: this.#nowMs() };
    await this.#walk(root, counted);
    return counted;
  }

  /** Ends early once there are too many: how many more does not matter. */
  async #walk(directory: string, counted: Counted): Promise<void> {
    const entries = (await unlessGone(readdir(directory, { withFileTypes: true }))) ?? [];
    for (const entry of entries) {
      if (counted.entries > this.#bounds.entriesMax) return;
      counted.entries += 1;
      const path = join(directory, entry.name);
      if (entry.isDirectory()) await this.#walk(path, counted);
      else if (entry.isFile()) counted.bytes += (await unlessGone(stat(path)))?.size ?? 0;
    }
  }
}

async function unlessGone<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}
