/** The main thread's way to the site's own Python: questions of the master's parts go to the lane that keeps the Python processes. */
import { EventEmitter, once } from "node:events";
import { MessageChannel } from "node:worker_threads";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { sidecarEventsWaitMs, sidecarLookMs } from "../../limits.ts";
import type { RunnerCaller } from "../../runners/contract/contract.ts";
import { type BlockingLine, serveLine } from "../../sidecar/blocking.ts";
import type { SidecarRequest } from "../../sidecar/contract.ts";
import { type AskedTask, type AskOutcome, answerIn, failureOf } from "../../sidecar/outcome.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type {
  CallEvent,
  CallTask,
  SidecarLook,
  SidecarLookAnswer,
  SidecarResult,
} from "../../workers/messages/sidecar.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";

export type SidecarOptions = {
  readonly config: MasterConfig;
  readonly lane: LanePool;
  readonly logger: Pick<Logger, "warn" | "error">;
};

export type AskedCall = {
  readonly fun: string;
  readonly args: readonly Value[];
  readonly kwargs: ValueMap;
  readonly caller: RunnerCaller;
};

export class SidecarCalls {
  readonly #options: SidecarOptions;
  #last: SidecarLookAnswer | undefined;
  #looking: NodeJS.Timeout | undefined;

  constructor(options: SidecarOptions) {
    this.#options = options;
  }

  /** The latest figures; undefined before the first question. */
  get state(): SidecarLookAnswer | undefined {
    return this.#last;
  }

  /** @throws SaltworksError as the sidecar */
  async ask(request: SidecarRequest, timeoutMs: number): Promise<Value> {
    return answerIn(await this.#outcome({ kind: "ask", request, timeoutMs }));
  }

  /** Calls a runner or wheel function. `onEvent` gets what it fires meanwhile, before this resolves. @throws SaltworksError of the lane */
  async call({ fun, args, kwargs, caller }: AskedCall, onEvent: (event: CallEvent) => void): Promise<SidecarResult> {
    this.#lookSoon();
    const { port1, port2 } = new MessageChannel();
    let heard = 0;
    const news = new EventEmitter();
    port1.on("message", (event: CallEvent) => {
      onEvent(event);
      heard += 1;
      news.emit("heard");
    });
    const packed = { args: encode(args, "bin"), kwargs: encode(kwargs, "bin") };
    const task = { kind: "call", fun, ...packed, caller, port: port2 } satisfies CallTask;
    try {
      const result = await this.#options.lane.run<SidecarResult>(task, { transfer: [port2] });
      const signal = AbortSignal.timeout(sidecarEventsWaitMs);
      // At most a few are under way. Later ones are not waited for.
      while (heard < result.events && !signal.aborted)
        await once(news, "heard", { signal }).catch((error: Error) => {
          if (error.name !== "AbortError") throw error;
        });
      return result;
    } finally {
      port1.close();
    }
  }

  /** The site's modules are loaded anew at the next request. */
  async forget(): Promise<void> {
    await this.#look(true);
  }

  /** Runs `task` with a line on which its thread asks and sleeps until the answer is there. */
  async withLine<Result>(run: (line: BlockingLine) => Promise<Result>): Promise<Result> {
    const { port1, port2 } = new MessageChannel();
    const signal = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    serveLine({ port: port1, signal }, (asked) => this.#outcome(asked));
    try {
      return await run({ port: port2, signal });
    } finally {
      port1.close();
    }
  }

  async #outcome(asked: AskedTask): Promise<AskOutcome> {
    this.#lookSoon();
    try {
      return await this.#options.lane.run<AskOutcome>(asked);
    } catch (error) {
      return failureOf(error);
    }
  }

  /** Once there are questions, looks at the figures, and logs what Python wrote. */
  #lookSoon(): void {
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined;
      void this.#look(false);
    }, sidecarLookMs).unref();
  }

  async #look(isForgotten: boolean): Promise<void> {
    const { lane, logger } = this.#options;
    try {
      this.#last = await lane.run<SidecarLookAnswer>({ kind: "look", isForgotten } satisfies SidecarLook);
      for (const text of this.#last.complaints) logger.warn({ python: text }, "the site's Python wrote");
    } catch (error) {
      logger.error({ err: error }, "the sidecar's lane did not answer");
    }
  }
}
