/**
 * Renders pillars that need the site's own Python, in threads that wait with it. All other pillars are rendered elsewhere, so that a slow source in
 * Python does not hold them up.
 */
import { SaltworksError } from "../../errors.ts";
import { pythonMinionsMax, pythonPillarsWaitingMax } from "../../limits.ts";
import type { PillarResult, PillarTask } from "../../workers/messages/pillar.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import { Semaphore } from "../admission/semaphore.ts";
import type { SidecarCalls } from "./sidecar-calls.ts";

export type PythonPillarsOptions = {
  readonly sidecar: SidecarCalls;
  readonly lane: LanePool;
  readonly threadCount: number;
  /** Whether the configuration has sources in Python, which every pillar needs. */
  readonly isAlwaysNeeded: boolean;
};

export class PythonPillars {
  readonly counters = { rendered: 0, refused: 0 };
  readonly #options: PythonPillarsOptions;
  readonly #threads: Semaphore;
  /** Minions whose latest pillar needed Python, the one that asked longest ago first. */
  readonly #known = new Set<string>();
  #waitingCount = 0;

  constructor(options: PythonPillarsOptions) {
    this.#options = options;
    this.#threads = new Semaphore(options.threadCount);
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Whether the minion's pillar is best rendered beside Python at once. */
  isFor(id: string): boolean {
    return this.#options.isAlwaysNeeded || this.#known.has(id);
  }

  /** @throws SaltworksError QUEUE_FULL, TASK_TIMEOUT */
  async run(task: PillarTask): Promise<PillarResult> {
    if (this.#waitingCount >= pythonPillarsWaitingMax) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", "too many pillars wait for Python", { pythonPillarsWaitingMax });
    }
    this.#remember(task.id);
    this.#waitingCount += 1;
    const { sidecar, lane } = this.#options;
    try {
      const result = await this.#threads.run(() =>
        sidecar.withLine((line) => lane.run<PillarResult>({ ...task, line }, { transfer: [line.port] })),
      );
      this.counters.rendered += 1;
      if (result.usedPython !== true) this.#known.delete(task.id);
      return result;
    } finally {
      this.#waitingCount -= 1;
    }
  }

  #remember(id: string): void {
    this.#known.delete(id);
    this.#known.add(id);
    const [oldest] = this.#known;
    if (this.#known.size > pythonMinionsMax && oldest !== undefined) this.#known.delete(oldest);
  }
}
