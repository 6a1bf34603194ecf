/**
 * Answers minions that ask for further states of their highstate (`master_tops`): the external lane runs the command, and the minion's worker seals
 * the answer. Commands under way and waiting requests are bounded.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { topsWaitingMax, topsWaitMs } from "../../limits.ts";
import { servedNames } from "../../sidecar/availability.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { TopsResult, TopsTask } from "../../workers/messages/pillar.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { Semaphore } from "../admission/semaphore.ts";
import type { OpenSidecar } from "../sidecar/open.ts";

export type TopAnswersOptions = {
  readonly config: Pick<MasterConfig, "ext_pillar_commands" | "ext_pillar_timeout" | "master_tops" | "sitePlugins">;
  /** Runs the commands. */
  readonly sources: Pick<LanePool, "run">;
  readonly pool: Pick<WorkerPool, "offer" | "slotCount">;
  readonly partitioner: Partitioner;
  readonly logger: Pick<Logger, "error">;
  readonly sidecar: OpenSidecar | undefined;
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
  async answer({ id, command, options, seal }: Extract<Deferred, { kind: "tops" }>): Promise<Uint8Array> {
    const { sources, pool, partitioner, logger } = this.#options;
    if (this.#waitingCount >= topsWaitingMax)
      throw new SaltworksError("QUEUE_FULL", "too many minions wait for master_tops", { topsWaitingMax });
    const sinceMs = performance.now();
    this.#waitingCount += 1;
    const { states, fault } = await this.#commands
      .run(async () => {
        if (performance.now() - sinceMs > topsWaitMs)
          throw new SaltworksError("TASK_TIMEOUT", "a question for master_tops waited too long", { topsWaitMs });
        const python = await this.#inPython(id, options);
        const task: TopsTask = { id, masterTops: command, ...("others" in python && python) };
        const result = await sources.run<TopsResult>(task);
        return "fault" in python ? { ...result, fault: result.fault ?? python.fault } : result;
      })
      .finally(() => {
        this.#waitingCount -= 1;
      });
    if (fault !== undefined) logger.error({ minion: id, fault }, "a source of master_tops gave no states");
    const build = () => ({ task: { kind: "sealReply", id, seal, parts: [states] }, transfer: [] });
    return await pool.offer<Uint8Array>(partitioner.slotOf(id, pool.slotCount), { bytes: states.byteLength, build });
  }

  /** What sources in the site's own Python found, in the new flavour. As in Salt, a source that fails gives no states, and the log says so. */
  async #inPython(
    id: string,
    packed: Uint8Array | undefined,
  ): Promise<{ readonly others: Uint8Array } | { readonly fault: string } | Record<string, never>> {
    const { config, sidecar } = this.#options;
    if (packed === undefined || sidecar === undefined) return {};
    try {
      const sent = packed.byteLength === 0 ? undefined : decode(packed, "text", DecodeBudget.ofRequest());
      // A minion writes its options itself. Its id is the one that it proved.
      const options = new Map<Value, Value>(sent instanceof Map ? sent : []).set("id", id);
      const grains = options.get("grains");
      const names = servedNames(config, "tops");
      const tops = Object.fromEntries(names.map((name) => [name, config.master_tops[name] ?? null]));
      const request = { kind: "tops", tops, opts: options, grains: grains instanceof Map ? grains : new Map() };
      return { others: encode(await sidecar.calls.ask(request, config.ext_pillar_timeout * 1_000), "bin") };
    } catch (error) {
      return { fault: (error as Error).message };
    }
  }
}
