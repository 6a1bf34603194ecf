/** Runs runner and wheel functions in the runner lane, and answers what they ask the main thread meanwhile. */
import { MessageChannel } from "node:worker_threads";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode } from "../../errors.ts";
import { bindArguments } from "../../runners/contract/call.ts";
import type { RunnerCaller, RunnerFunction } from "../../runners/contract/contract.ts";
import { orchestrationNames } from "../../runners/master/event.ts";
import { runnerFunctions } from "../../runners/registry.ts";
import { wheelFunctions } from "../../runners/wheel.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { RunnerAsk, RunnerResult, RunnerTask } from "../../workers/messages/runner.ts";
import type { CallEvent, SidecarResult } from "../../workers/messages/sidecar.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import { Orchestrations } from "../orchestrations/orchestrations.ts";
import type { SidecarCalls } from "../sidecar/sidecar-calls.ts";
import { KeptKeyList } from "../upkeep/kept-key-list.ts";
import { callArguments } from "./call-arguments.ts";
import { answerRunner, type RunnerAsks } from "./runner-asks.ts";

type Options = {
  readonly runners: LanePool;
  readonly sidecar: SidecarCalls | undefined;
  readonly asks: RunnerAsks;
  readonly logger: Logger;
  readonly config: MasterConfig;
};

/** How to get a function that may be one of the site's own. */
function withoutPython(fun: string, { value }: { readonly value: Uint8Array }): RunnerResult {
  const text = `'${fun}' is not available. Functions of the site's own need a Python with Salt: ${String(decode(value))}`;
  const answer = { value: encode(text, "bin"), reply: encode(text, "raw") };
  return { ...answer, code: "FUNCTION_UNKNOWN", success: false, notes: [], faults: [], callerEvents: 0 };
}

/** Whether a call of our own function needs a plug-in of Salt's. Arguments that the function does not take are refused later, by name. */
function needsPython(fun: string, own: RunnerFunction, args: readonly Value[], kwargs: ValueMap): boolean {
  if (own.runsInPython === undefined) return false;
  try {
    return own.runsInPython(bindArguments(fun, own, args, kwargs).bound);
  } catch (error) {
    if (hasCode(error, "FUNCTION_ARGUMENTS")) return false;
    throw error;
  }
}

export class RunnerLaneCalls {
  readonly #options: Options;
  readonly #keyList: KeptKeyList;
  readonly #orchestrations: Orchestrations;

  constructor(options: Options) {
    this.#options = options;
    this.#keyList = new KeptKeyList(options.config.pki_dir);
    this.#orchestrations = new Orchestrations(options);
  }

  get orchestrations(): Orchestrations["counts"] {
    return this.#orchestrations.counts;
  }

  /** Ends the orchestrations. */
  close(): void {
    this.#orchestrations.close();
  }

  /** Never throws: a failure is a result without success. */
  async run(fun: string, args: Value[], kwargs: ValueMap, caller: RunnerCaller): Promise<RunnerResult> {
    const isKeyList = fun === "key.list_all" && caller.kind === "wheel" && args.length + kwargs.size === 0;
    const run = () => this.#run(fun, args, kwargs, caller);
    return isKeyList ? await this.#keyList.result(run) : await run();
  }

  async #run(fun: string, args: Value[], kwargs: ValueMap, caller: RunnerCaller): Promise<RunnerResult> {
    const { logger } = this.#options;
    const isOrchestration = caller.kind === "runner" && orchestrationNames.has(fun);
    try {
      const result = isOrchestration
        ? { ...(await this.#orchestrations.run(fun, args, kwargs, caller)), notes: [], callerEvents: 0 }
        : ((await this.#inPython(fun, args, kwargs, caller)) ?? (await this.#inLane(fun, args, kwargs, caller)));
      for (const fault of result.faults) logger.error({ fault, fun }, "a runner met a fault");
      return result;
    } catch (error) {
      logger.error({ err: error, fun }, "a runner failed");
      const text = `Exception occurred in ${caller.kind} ${fun}: ${(error as Error).message}`;
      const answer = { value: encode(text, "bin"), reply: encode(text, "raw") };
      return { ...answer, success: false, notes: [], faults: [], callerEvents: 0 };
    }
  }

  /** Functions that only the site's own Salt has. @returns undefined if it has none of this name, either */
  async #inPython(
    fun: string,
    args: Value[],
    kwargs: ValueMap,
    caller: RunnerCaller,
  ): Promise<RunnerResult | undefined> {
    const { sidecar } = this.#options;
    const isSync = caller.kind === "runner" && fun.startsWith("saltutil.sync_");
    const own = (caller.kind === "runner" ? runnerFunctions : wheelFunctions).get(fun);
    if (sidecar === undefined || (own !== undefined && !isSync && !needsPython(fun, own, args, kwargs)))
      return undefined;
    const given = callArguments(args, kwargs, false);
    const { asks, logger } = this.#options;
    const fire = async (event: CallEvent) => asks.fire(event, caller);
    const result = await sidecar.call({ fun, ...given, caller }, (event) => {
      fire(event).catch((error: Error) => logger.error({ err: error, fun }, "an event of a runner could not be fired"));
    });
    if (isSync && result.success) await sidecar.forget();
    if (!result.isMissing)
      return { ...result, notes: [], faults: [], callerEvents: result.events + (await this.#printed(result, caller)) };
    return result.code === "SIDECAR_MISSING" && !isSync ? withoutPython(fun, result) : undefined;
  }

  /** Tells the caller what a function in Python has printed. @returns how many events its client should see before the result */
  async #printed({ printed }: SidecarResult, caller: RunnerCaller): Promise<number> {
    if (printed === "") return 0;
    const tag = `saltworks/run/${caller.jid}/print`;
    await this.#options.asks.fire({ tag, data: encode({ text: printed }, "bin") }, caller);
    return 1;
  }

  async #inLane(fun: string, args: Value[], kwargs: ValueMap, caller: RunnerCaller): Promise<RunnerResult> {
    const { asks, logger, runners } = this.#options;
    const { port1, port2 } = new MessageChannel();
    port1.on("message", (ask: RunnerAsk) => {
      answerRunner(asks, port1, ask, caller).catch((error: Error) =>
        logger.error({ err: error }, "a runner's question failed"),
      );
    });
    const task: RunnerTask = { fun, args: encode(args, "bin"), kwargs: encode(kwargs, "bin"), caller, port: port2 };
    try {
      return await runners.run<RunnerResult>(task, { transfer: [port2] });
    } finally {
      port1.close();
    }
  }
}
