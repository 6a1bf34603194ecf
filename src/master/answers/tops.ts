/**
 * Answers minions that ask for further states of their highstate (`master_tops`): the external lane runs the command, and the minion's worker seals
 * the answer. Commands under way and waiting requests are bounded.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { topsWaitingMax, topsWaitMs } from "../../limits.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { TopsResult, TopsTask } from "../../workers/messages/pillar.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { Semaphore } from "../admission/semaphore.ts";

export type TopAnswersOptions = {
  readonly config: Pick<MasterConfig, "ext_pillar_commands">;
  /** Runs the commands. */
  readonly sources: Pick<LanePool, "run">;
  readonly pool: Pick<WorkerPool, "offer" | "slotCount">;
  readonly partitioner: Partitioner;
  readonly logger: Pick<Logger, "error">;
};

export class TopAnswers {
  readonly #options: TopAnswersOptions;
  readonly #commands: Semaphore;
  #waitingCount = 0;

  constructor(options: TopAnswersOptions) {
    this.#options = options;
    this.#commands = new Semaphore(options.config.ext_pillar_commands);
  }

  /** @returns the encrypted reply. @throws SaltworksError QUEUE_FULL, TASK_TIMEOUT, or what lane and pool throw */
  async answer({ id, command, seal }: Extract<Deferred, { kind: "tops" }>): Promise<Uint8Array> {
    const { sources, pool, partitioner, logger } = this.#options;
    if (this.#waitingCount >= topsWaitingMax)
      throw new SaltworksError("QUEUE_FULL", "too many minions wait for master_tops", { topsWaitingMax });
    const sinceMs = performance.now();
    this.#waitingCount += 1;
    const { states, fault } = await this.#commands
      .run(async () => {
        if (performance.now() - sinceMs > topsWaitMs)
          throw new SaltworksError("TASK_TIMEOUT", "a question for master_tops waited too long", { topsWaitMs });
        return await sources.run<TopsResult>({ id, masterTops: command } satisfies TopsTask);
      })
      .finally(() => {
        this.#waitingCount -= 1;
      });
    if (fault !== undefined) logger.error({ minion: id, fault }, "master_tops ext_nodes gave no states");
    const build = () => ({ task: { kind: "sealReply", id, seal, parts: [states] }, transfer: [] });
    return await pool.offer<Uint8Array>(partitioner.slotOf(id, pool.slotCount), { bytes: states.byteLength, build });
  }
}
