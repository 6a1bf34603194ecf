/** Starts reactions as the master itself would: publishes jobs, and runs runner, wheel and minions' functions, a few at once. Never throws. */
import type { Logger } from "pino";
import { callerReactionsMax } from "../../limits.ts";
import { decode } from "../../wire/msgpack.ts";
import { pickEntries } from "../../wire/pick.ts";
import { mapEntries } from "../../wire/walk.ts";
import type { Reaction } from "../../workers/messages/reactor.ts";

/** Takes requests as operators send them. `publish`: as the master's own user. `run`: as the user `Reactor`. Both return the reply's frame. */
export type ReactionCommands = {
  publish(load: Uint8Array): Promise<Uint8Array>;
  run(kind: "runner" | "wheel", load: Uint8Array): Promise<Uint8Array | undefined>;
  /** A minion's function on this machine, through the site's own Salt. @throws SaltworksError as the sidecar */
  callHere(fun: string, load: Uint8Array): Promise<void>;
};

export type ReactionsOptions = {
  readonly commands: ReactionCommands;
  readonly callsAtOnceMax: number;
  readonly callsWaitingMax: number;
  readonly logger: Pick<Logger, "error" | "warn">;
};

type Outcome = "done" | "unmatched" | "failed" | "dropped";
type Call = Reaction & { readonly kind: "runner" | "wheel" | "caller" };

type Queue = { readonly waiting: Call[]; running: number; readonly atOnceMax: number };

export class Reactions {
  readonly counters: Record<Reaction["kind"], Record<Outcome, number>> = {
    local: { done: 0, unmatched: 0, failed: 0, dropped: 0 },
    runner: { done: 0, unmatched: 0, failed: 0, dropped: 0 },
    wheel: { done: 0, unmatched: 0, failed: 0, dropped: 0 },
    caller: { done: 0, unmatched: 0, failed: 0, dropped: 0 },
  };
  readonly #options: ReactionsOptions;
  /** Functions of minions have a queue of their own, because one may hang for minutes. */
  readonly #queues: { readonly [kind in "calls" | "callers"]: Queue };
  #isClosed = false;

  constructor(options: ReactionsOptions) {
    this.#options = options;
    this.#queues = {
      calls: { waiting: [], running: 0, atOnceMax: options.callsAtOnceMax },
      callers: { waiting: [], running: 0, atOnceMax: callerReactionsMax },
    };
  }

  /** In the fuller queue. */
  get callsWaiting(): number {
    return Math.max(this.#queues.calls.waiting.length, this.#queues.callers.waiting.length);
  }

  /** Starts an event's reactions in their order. Resolves when its jobs are published; does not wait for other functions. */
  async start(tag: string, reactions: readonly Reaction[]): Promise<void> {
    for (const reaction of reactions) {
      if (this.#isClosed) return;
      if (reaction.kind === "local") await this.#publish(tag, reaction);
      else this.#enqueue(tag, { ...reaction, kind: reaction.kind });
    }
  }

  /** Forgets the calls that wait. */
  close(): void {
    this.#isClosed = true;
    for (const { waiting } of Object.values(this.#queues)) waiting.length = 0;
  }

  async #publish(tag: string, reaction: Reaction): Promise<void> {
    try {
      const reply = decode(await this.#options.commands.publish(reaction.load));
      const load = reply instanceof Map ? reply.get("load") : undefined;
      if (load instanceof Map && load.get("jid") === null) this.counters.local.unmatched += 1;
      else if (load instanceof Map && !load.has("error")) this.counters.local.done += 1;
      else this.#failed(tag, reaction, String(reply instanceof Map ? (reply.get("error") ?? "") : ""));
    } catch (error) {
      this.#failed(tag, reaction, (error as Error).message);
    }
  }

  #enqueue(tag: string, call: Call): void {
    const queue = this.#queues[call.kind === "caller" ? "callers" : "calls"];
    if (queue.running >= queue.atOnceMax && queue.waiting.length >= this.#options.callsWaitingMax) {
      this.counters[call.kind].dropped += 1;
      const { id: reactor, kind, fun } = call;
      this.#options.logger.error(
        { tag, reactor, kind, fun },
        "a reaction is dropped: too many wait; see reactor_worker_threads and reactor_worker_hwm",
      );
      return;
    }
    queue.waiting.push(call);
    this.#pump(queue);
  }

  #pump(queue: Queue): void {
    while (queue.running < queue.atOnceMax) {
      const call = queue.waiting.shift();
      if (call === undefined) return;
      queue.running += 1;
      void this.#run(call).finally(() => {
        queue.running -= 1;
        this.#pump(queue);
      });
    }
  }

  async #run(call: Call): Promise<void> {
    try {
      if (call.kind === "caller") {
        await this.#options.commands.callHere(call.fun, call.load);
        this.counters.caller.done += 1;
        return;
      }
      const reply = await this.#options.commands.run(call.kind, call.load);
      // The call's own event shows why it failed, as in Salt.
      this.counters[call.kind][reply !== undefined && isSuccess(reply) ? "done" : "failed"] += 1;
    } catch (error) {
      this.#failed("", call, (error as Error).message);
    }
  }

  #failed(tag: string, { id: reactor, sls, kind, fun }: Reaction, reason: string): void {
    this.counters[kind].failed += 1;
    const text = kind === "caller" ? "a caller reaction failed" : "a reaction could not be started";
    this.#options.logger.error({ tag, reactor, sls, kind, fun, reason }, text);
  }
}

/** Reads a call's reply without its value, which may be large. */
export function isSuccess(reply: Uint8Array): boolean {
  const data = mapEntries(reply).find(({ key }) => key === "data");
  if (data === undefined) return false;
  return pickEntries(reply.subarray(data.valueStart, data.valueEnd), new Set(["success"])).get("success") === true;
}
