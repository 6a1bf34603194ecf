/**
 * What local users ask in clear: `publish`, `runner`, `wheel`. A worker has checked their key already; here the work is done
 * and answered in Salt's shapes. docs/protocol.md sections 7.2 and 11.2.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { Logger } from "pino";
import { hasCode } from "../errors.ts";
import { decode, encode } from "../wire/msgpack.ts";
import type { TextList } from "../wire/text-list.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import type { LanePool } from "../workers/lane-pool.ts";
import type { RunJobAnswer, RunnerAnswer, RunnerAsk, RunnerResult } from "../workers/messages.ts";
import type { JobTracker } from "./job-tracker.ts";
import type { Fire, Job, Published, Publisher } from "./publisher.ts";

export type CommandsOptions = {
  readonly publisher: Publisher;
  readonly tracker: JobTracker;
  readonly runners: LanePool;
  readonly fire: Fire;
  readonly connected: () => readonly string[];
  readonly counters: () => Promise<Encodable>;
  readonly metrics: () => Promise<Encodable>;
  readonly user: string;
  readonly logger: Logger;
};

/** A wheel function that is answered here, even while runners are busy, and without events: `saltworks top` asks each second. */
const metricsFunction = "saltworks.metrics";

/** Fields of a publish request's kwargs that the minions see, in Salt's order. */
const forwardedKwargs = ["ret_config", "metadata", "module_executors", "executor_opts", "ret_kwargs"] as const;
const secondsMax = 86_400 * 365;

export class Commands {
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /** @returns the reply frame */
  async publish(load: Uint8Array, user: string): Promise<Uint8Array> {
    const fields = decode(load) as ValueMap;
    const job = toJob(fields, user);
    const follow = followOf(fields);
    let published: Published | undefined;
    try {
      published = await this.#options.publisher.publish(job, (accepted) => {
        if (follow !== undefined) this.#follow(accepted.jid, accepted.minions, follow);
      });
    } catch (error) {
      // In the form that Salt's command line shows to its user; any other reply would be a traceback there.
      this.#options.logger.error({ err: error }, "a publish failed");
      return encode(
        { enc: "clear", load: { error: `The master could not publish: ${(error as Error).message}` } },
        "raw",
      );
    }
    if (published === undefined) {
      const error = `Master could not resolve minions for target ${targetText(job.target)}`;
      return encode({ enc: "clear", load: { jid: null, minions: [], error } }, "raw");
    }
    const { jid, minions, missing } = published;
    return encode({ enc: "clear", load: { jid, minions: minions.packed, missing } }, "raw");
  }

  /** Runner and wheel requests: `sync` runners and all wheels answer with the result, others with Salt's tag and jid at once. */
  async run(
    command: "runner" | "wheel",
    load: Uint8Array,
    user: string,
    reply: (frame: Uint8Array) => void,
  ): Promise<void> {
    const fields = decode(load) as ValueMap;
    const jid = this.#options.publisher.newJid();
    const name = String(fields.get("fun") ?? "");
    const tag = `${command === "runner" ? "salt/run" : "salt/wheel"}/${jid}`;
    const isSync = command === "wheel" || fields.get("sync") === true;
    const kwargs = command === "runner" ? asMap(fields.get("kwarg")) : wheelArguments(fields);
    const args = Array.isArray(fields.get("arg")) ? (fields.get("arg") as Value[]) : [];
    const head = { fun: `${command}.${name}`, jid, ...(command === "wheel" ? { tag } : {}), user };
    const finished = (data: Encodable) => encode({ tag, data }, "raw");
    if (command === "wheel" && name === metricsFunction) {
      reply(finished({ ...head, return: await this.#options.metrics(), success: true, _stamp: stampNow() }));
      return;
    }
    this.#options.fire(`${tag}/new`, command === "runner" ? { ...head, fun_args: [...args, kwargs] } : head);
    if (!isSync) reply(encode({ tag, jid }, "raw"));
    const result = await this.#runInLane(command, name, args, kwargs, user, jid);
    const data = { ...head, return: decode(result.value), success: result.success };
    this.#options.fire(`${tag}/ret`, data);
    if (isSync) reply(finished({ ...data, _stamp: stampNow() }));
  }

  #follow(
    jid: string,
    minions: TextList,
    follow: { readonly timeoutMs: number; readonly gatherTimeoutMs: number },
  ): void {
    this.#options.tracker.follow({
      jid,
      minions,
      ...follow,
      onDone: (returned, silent) =>
        this.#options.fire(`saltworks/job/${jid}/done`, { jid, returned, silent: new Map(silent) }),
    });
  }

  async #runInLane(
    kind: "runner" | "wheel",
    fun: string,
    args: Value[],
    kwargs: ValueMap,
    user: string,
    jid: string,
  ): Promise<RunnerResult> {
    const { port1, port2 } = new MessageChannel();
    port1.on("message", (ask: RunnerAsk) => {
      this.#answer(port1, ask).catch((error: Error) =>
        this.#options.logger.error({ err: error }, "a runner's question failed"),
      );
    });
    const task = { kind, fun, args: encode(args, "bin"), kwargs: encode(kwargs, "bin"), user, jid, port: port2 };
    try {
      return await this.#options.runners.run<RunnerResult>(task, { transfer: [port2] });
    } catch (error) {
      this.#options.logger.error({ err: error, fun }, "a runner failed");
      return {
        value: encode(`Exception occurred in ${kind} ${fun}: ${(error as Error).message}`, "bin"),
        success: false,
      };
    } finally {
      port1.close();
    }
  }

  async #answer(port: MessagePort, ask: RunnerAsk): Promise<void> {
    let answer: RunnerAnswer;
    try {
      answer = { id: ask.id, ok: true, value: await this.#valueFor(ask) };
    } catch (error) {
      const code = hasCode(error, "QUEUE_FULL") ? "QUEUE_FULL" : "FUNCTION_FAILED";
      answer = { id: ask.id, ok: false, code, message: (error as Error).message };
    }
    port.postMessage(answer);
  }

  #valueFor(ask: RunnerAsk): Promise<unknown> | unknown {
    switch (ask.ask) {
      case "connected":
        return [...this.#options.connected()];
      case "counters":
        return this.#options.counters();
      case "runJob":
        return this.#runJob(ask);
    }
  }

  /** Publishes a job of the master's own and settles when it is over. */
  #runJob(ask: Extract<RunnerAsk, { ask: "runJob" }>): Promise<RunJobAnswer> {
    const job = ownJob(
      ask.fun,
      decode(ask.arg) as Value[],
      decode(ask.target) as string | string[],
      ask.targetKind,
      this.#options.user,
    );
    return new Promise((resolve, reject) => {
      const returns: { id: string; body: Uint8Array }[] = [];
      const published = this.#options.publisher.publish(job, ({ jid, minions }) =>
        this.#options.tracker.follow({
          jid,
          minions,
          timeoutMs: ask.timeoutMs,
          gatherTimeoutMs: ask.gatherTimeoutMs,
          onReturn: (id, body) => returns.push({ id, body: Uint8Array.from(body()) }),
          onDone: (_, silent) =>
            resolve({ jid, minions: minions.texts(), returns, silent: Object.fromEntries(silent) }),
        }),
      );
      published.then((outcome) => {
        if (outcome === undefined) resolve({ jid: "", minions: [], returns: [], silent: {} });
      }, reject);
    });
  }
}

/** UTC time as Salt writes it. */
function stampNow(): string {
  return new Date().toISOString().slice(0, -1);
}

/** A job that the master starts by itself: find_job, presence, runners. */
export function ownJob(
  fun: string,
  arg: Encodable[],
  target: string | readonly string[],
  targetKind: string,
  user: string,
  isQuiet = false,
): Job {
  const load = new Map<Encodable, Encodable>([
    ["cmd", "publish"],
    ["tgt", target],
    ["fun", fun],
    ["arg", arg],
    ["tgt_type", targetKind],
    ["ret", ""],
    ["jid", ""],
    ["user", user],
  ]);
  return {
    fun,
    arg,
    target,
    targetKind,
    delimiter: ":",
    ret: "",
    user,
    jid: undefined,
    load,
    publishFields: new Map(),
    isQuiet,
  };
}

function toJob(fields: ValueMap, user: string): Job {
  const kwargs = asMap(fields.get("kwargs"));
  kwargs.delete("follow");
  const load = new Map<Encodable, Encodable>(fields);
  load.delete("key");
  if (load.has("kwargs")) load.set("kwargs", kwargs);
  const publishFields = new Map<string, Encodable>();
  for (const name of forwardedKwargs) if (kwargs.has(name)) publishFields.set(name, kwargs.get(name));
  const target = fields.get("tgt");
  const delimiter = kwargs.get("delimiter");
  const jid = fields.get("jid");
  return {
    fun: fields.get("fun") ?? "",
    arg: fields.get("arg") ?? [],
    target: Array.isArray(target) ? target.map(String) : String(target ?? ""),
    targetKind: String(fields.get("tgt_type") ?? "glob"),
    delimiter: typeof delimiter === "string" && delimiter !== "" ? delimiter : ":",
    ret: fields.get("ret") ?? "",
    user,
    jid: typeof jid === "string" && jid !== "" ? jid : undefined,
    load,
    publishFields,
    isQuiet: false,
  };
}

function followOf(fields: ValueMap): { readonly timeoutMs: number; readonly gatherTimeoutMs: number } | undefined {
  const follow = asMap(fields.get("kwargs")).get("follow");
  if (!(follow instanceof Map)) return undefined;
  const milliseconds = (name: string, otherwise: number) => {
    const value = Number(follow.get(name) ?? otherwise);
    return Math.round(Math.min(Number.isFinite(value) && value >= 0 ? value : otherwise, secondsMax) * 1_000);
  };
  return { timeoutMs: milliseconds("timeout", 5), gatherTimeoutMs: milliseconds("gather_job_timeout", 10) };
}

function wheelArguments(fields: ValueMap): ValueMap {
  const kwargs = new Map(fields);
  for (const name of ["cmd", "fun", "key", "user", "arg"]) kwargs.delete(name);
  return kwargs;
}

function asMap(value: Value | undefined): ValueMap {
  return value instanceof Map ? new Map(value) : new Map();
}

/** Salt writes a list target the way Python prints one. */
function targetText(target: string | readonly string[]): string {
  return typeof target === "string" ? target : `[${target.map((id) => `'${id}'`).join(", ")}]`;
}
