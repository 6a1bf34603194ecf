/**
 * An operator's connection to a running master of this machine: publishes and follows jobs, calls runners and wheel functions.
 * Source: docs/protocol.md sections 7.2 and 11.
 */
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { runnerReplyTimeoutMs, wheelReplyTimeoutMs } from "../limits.ts";
import type { AskedTarget } from "../target/asked-target.ts";
import { EventSubscriber } from "../transport/event-stream-client.ts";
import { type BatchOptions, encodeBatchOptions } from "../wire/batch-options.ts";
import { intField, listField, mapField, textField } from "../wire/fields.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import { BatchFeed } from "./batch-feed.ts";
import { type CommandOutcome, readOutcome } from "./command-reply.ts";
import {
  type Credentials,
  type Login,
  makeToken,
  type PasswordLogin,
  readCredentials,
  type Sender,
} from "./credentials.ts";
import type { ConnectBus, EventHub } from "./event-hub.ts";
import { type JobEnd, JobFeed, texts, textsById, toJobEnd } from "./job-feed.ts";
import type { JobRequest, Published } from "./job-request.ts";
import { RequestChannels } from "./request-channels.ts";
import { knock } from "./request-port.ts";
import { ownJid, RunnerFeed, type RunnerListener } from "./runner-feed.ts";
import { pageOf, RunningBatch } from "./running-batch.ts";
import { RunningJob } from "./running-job.ts";
import { lostBus, notContactedText, notPermittedText } from "./texts.ts";

/** Salt sends a publish up to three times. We send it once and wait as long, so that a slow master cannot publish it twice. */
const publishTries = 3;

/** Connections of a program with many callers. */
export type SharedConnections = { readonly channels: RequestChannels; readonly hub: EventHub };

export class MasterClient {
  readonly #config: MasterConfig;
  readonly #credentials: Credentials;
  readonly #channels: RequestChannels;
  readonly #connect: ConnectBus;
  readonly #hub: EventHub | undefined;

  private constructor(config: MasterConfig, credentials: Credentials, shared?: SharedConnections) {
    this.#config = config;
    this.#credentials = credentials;
    this.#hub = shared?.hub;
    this.#channels = shared?.channels ?? new RequestChannels(config);
    this.#connect = shared?.hub.connect ?? EventSubscriber.connect;
  }

  /** A client on connections that other clients use, too: closing it ends nothing. */
  static sharing(config: MasterConfig, credentials: Credentials, shared: SharedConnections): MasterClient {
    return new MasterClient(config, credentials, shared);
  }

  get #sender(): Sender {
    return this.#credentials.sender ?? { user: this.#credentials.user };
  }

  /** Members that say who asks, and prove it. */
  get #asker(): Sender & Credentials["proof"] {
    return { ...this.#credentials.proof, ...this.#sender };
  }

  /**
   * Reads the user's key, unless a login is given. Does not connect yet.
   *
   * @param sender of the requests with this login, if it is not `user`: the API process
   * @throws SaltworksError AUTH_FAILED, MASTER_UNREACHABLE
   */
  static async open(config: MasterConfig, user: string, login?: Login, sender?: Sender): Promise<MasterClient> {
    return new MasterClient(config, login ? { user, proof: login, sender } : await readCredentials(config, user));
  }

  /**
   * Reads the key of the master's own user, and asks in the name of `user`, who made the master run this process.
   *
   * @throws SaltworksError AUTH_FAILED, MASTER_UNREACHABLE
   */
  static async openFor(config: MasterConfig, own: string, user: string): Promise<MasterClient> {
    return new MasterClient(config, { ...(await readCredentials(config, own)), user });
  }

  /**
   * Asks for a token that replaces the password.
   *
   * @returns undefined if the master does not know the user or refuses the password
   * @throws SaltworksError REQUEST_TIMEOUT, MASTER_UNREACHABLE
   */
  static async makeToken(config: MasterConfig, login: PasswordLogin): Promise<string | undefined> {
    const channels = new RequestChannels(config);
    try {
      await knock(config);
      const made = await makeToken(channels, login);
      return made && textField(made, "token");
    } finally {
      channels.close();
    }
  }

  /**
   * Publishes a job without waiting for it. Fails at once if no program listens at the request port.
   *
   * @returns undefined if no minion matched; nothing was sent then
   * @throws SaltworksError REQUEST_TIMEOUT, MASTER_UNREACHABLE, AUTH_FAILED, REQUEST_REFUSED, TARGET_INVALID
   */
  async publish(request: JobRequest): Promise<Published | undefined> {
    await this.#knock();
    return await this.#publish(request);
  }

  /** @throws SaltworksError MASTER_UNREACHABLE */
  async #knock(): Promise<void> {
    await (this.#hub === undefined ? knock(this.#config) : this.#hub.reach());
  }

  async #publish(request: JobRequest): Promise<Published | undefined> {
    const { follow } = request;
    const { proof } = this.#credentials;
    const isKey = "key" in proof;
    const load = {
      cmd: "publish",
      tgt: request.target,
      fun: request.fun,
      arg: request.args,
      ...(isKey ? proof : {}),
      tgt_type: request.targetKind,
      ret: request.ret ?? "",
      jid: request.jid ?? "",
      kwargs: {
        ...request.kwargs,
        batch: request.batch && encodeBatchOptions(request.batch),
        follow: follow && {
          timeout: follow.timeoutSeconds,
          gather_job_timeout: follow.gatherTimeoutSeconds,
          leave_absent: follow.leavesAbsent,
        },
        // Salt's clients put the login here, too.
        ...(isKey ? {} : proof),
      },
      ...this.#sender,
      __notes__: true,
    };
    const seconds = follow?.timeoutSeconds ?? this.#config.timeout;
    const reply = await this.#channels.ask(load, Math.max(1, seconds) * publishTries * 1_000);
    const fields = mapField(reply, "load");
    const jid = fields === undefined ? undefined : textField(fields, "jid");
    if (fields === undefined || (jid === undefined && !fields.has("minions"))) {
      throw new SaltworksError("REQUEST_REFUSED", (fields && textField(fields, "error")) || notPermittedText);
    }
    const refusal = textField(fields, "refused");
    if (refusal !== undefined) throw new SaltworksError("TARGET_INVALID", refusal);
    const minions = texts(listField(fields, "minions"));
    const mayGrow = fields.get("may_grow") === true;
    if (jid === undefined || (minions.length === 0 && !mayGrow)) return undefined;
    const reasons = textsById(mapField(fields, "reasons"));
    const waitsUntilMs = intField(fields, "waits_until");
    return { jid, minions, missing: texts(listField(fields, "missing")), reasons, waitsUntilMs, mayGrow };
  }

  /**
   * Publishes a job and follows it.
   *
   * @returns undefined if no minion matched. The caller closes the job when done.
   * @throws SaltworksError as `publish`
   */
  async run(
    request: JobRequest & { readonly follow: NonNullable<JobRequest["follow"]> },
  ): Promise<RunningJob | undefined> {
    const feed = await this.#contact(() => JobFeed.open(this.#eventPath(), undefined, this.#connect));
    try {
      const published = await this.#publish(request);
      if (published === undefined) {
        feed.close();
        return undefined;
      }
      feed.follow(published.jid);
      return new RunningJob(published, feed, {
        returns: (jid, ids) => this.#storedReturns(jid, ids),
        end: (jid) => this.#jobEnd(jid),
      });
    } catch (error) {
      feed.close();
      throw error;
    }
  }

  /**
   * Begins a batch job. The master continues it even if this client ends.
   *
   * @returns undefined if no minion matched. The caller closes the batch when done.
   * @throws SaltworksError as `publish`
   */
  async batch(request: JobRequest & { readonly batch: BatchOptions }): Promise<RunningBatch | undefined> {
    const feed = await this.#contact(() => BatchFeed.open(this.#eventPath(), undefined, this.#connect));
    try {
      const published = await this.#publish(request);
      if (published !== undefined) return this.#following(published.jid, feed);
      feed.close();
      return undefined;
    } catch (error) {
      feed.close();
      throw error;
    }
  }

  /** Follows a batch job of any client from its beginning. @throws SaltworksError MASTER_UNREACHABLE */
  async followBatch(jid: string): Promise<RunningBatch> {
    return this.#following(jid, await this.#contact(() => BatchFeed.open(this.#eventPath(), undefined, this.#connect)));
  }

  #following(jid: string, feed: BatchFeed): RunningBatch {
    feed.follow(jid);
    return new RunningBatch(jid, feed, {
      page: async (batchJid, offset) => pageOf((await this.wheel("saltworks.batch", { jid: batchJid, offset })).value),
      returns: (stepJid, ids) => this.#storedReturns(stepJid, ids),
    });
  }

  /**
   * Runs a runner function and waits for its result.
   *
   * @param jid its job id instead of a new one
   * @param listener gets lines and progress of the function while it runs
   * @throws SaltworksError as `publish`; MASTER_UNREACHABLE also if the master stops meanwhile
   */
  async runner(
    fun: string,
    args: readonly Value[],
    kwargs: ValueMap,
    jid: string = ownJid(this.#config.unique_jid),
    listener?: RunnerListener,
    signal?: AbortSignal,
  ): Promise<CommandOutcome> {
    const feed = listener && new RunnerFeed(jid, listener);
    return await this.#untilLost(signal, feed, async (ending) => {
      const load = { ...this.#runnerLoad(fun, args, kwargs), __jid__: jid, sync: true, __notes__: true };
      const reply = await this.#channels.ask(load, runnerReplyTimeoutMs, ending);
      await feed?.heard(Number(mapField(reply, "data")?.get("told") ?? 0));
      return readOutcome(reply);
    });
  }

  /**
   * Calls a function that only reads: the master keeps no job record of the call and fires no event.
   *
   * @throws SaltworksError as `runner`; REQUEST_REFUSED also for a function that does more than read
   */
  async read(
    command: "runner" | "wheel",
    fun: string,
    kwargs: ValueMap,
    signal?: AbortSignal,
  ): Promise<CommandOutcome> {
    const load = { ...this.#runnerLoad(fun, [], kwargs), cmd: command, sync: true, __notes__: true, __read__: true };
    return await this.#untilLost(signal, undefined, async (ending) =>
      readOutcome(await this.#channels.ask(load, runnerReplyTimeoutMs, ending)),
    );
  }

  /** Runs `step` with a signal that also ends it if the master stops meanwhile. */
  async #untilLost<Result>(
    signal: AbortSignal | undefined,
    feed: RunnerFeed | undefined,
    step: (ending: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    signal?.throwIfAborted();
    const lost = new AbortController();
    const giveUp = () => lost.abort(signal?.reason);
    signal?.addEventListener("abort", giveUp, { once: true });
    const link = await this.#contact(() =>
      this.#connect(this.#eventPath(), {
        onEvent: (body, isMasters) => {
          if (isMasters) feed?.take(body);
        },
        onClose: () => lost.abort(lostBus()),
      }),
    );
    try {
      return await step(lost.signal);
    } finally {
      signal?.removeEventListener("abort", giveUp);
      link.close();
    }
  }

  /**
   * Starts a runner function without waiting for it: its result comes as an event, `<tag>/ret`.
   *
   * @param jid its job id instead of a new one
   * @throws SaltworksError as `publish`
   */
  async startRunner(
    fun: string,
    args: readonly Value[],
    kwargs: ValueMap,
    jid?: string,
  ): Promise<{ readonly tag: string; readonly jid: string }> {
    await this.#knock();
    const load = {
      ...this.#runnerLoad(fun, args, kwargs),
      ...(jid ? { __jid__: jid } : {}),
    };
    const reply = await this.#channels.ask(load, wheelReplyTimeoutMs);
    return { tag: textField(reply, "tag") ?? "", jid: textField(reply, "jid") ?? "" };
  }

  #runnerLoad(fun: string, args: readonly Value[], kwargs: ValueMap): { readonly [name: string]: Encodable } {
    return { cmd: "runner", fun, arg: args, kwarg: kwargs, ...this.#asker };
  }

  /** @throws SaltworksError as `publish` */
  async wheel(
    fun: string,
    kwargs: { readonly [name: string]: Encodable },
    timeoutMs = wheelReplyTimeoutMs,
  ): Promise<CommandOutcome> {
    return readOutcome(
      await this.#channels.ask({ cmd: "wheel", fun, ...kwargs, ...this.#asker, __notes__: true }, timeoutMs),
    );
  }

  /** The minions that the master would expect to answer a job for the target. @throws SaltworksError TARGET_INVALID, and as `publish` */
  async matchTarget(target: AskedTarget): Promise<readonly string[]> {
    const answer = await this.#askTarget("saltworks.match_target", target);
    return texts(listField(answer, "minions"));
  }

  /** The number of minions in `matchTarget`. @throws SaltworksError as `matchTarget` */
  async countTarget(target: AskedTarget): Promise<number> {
    const answer = await this.#askTarget("saltworks.match_target", target, { is_counted: true });
    return Number(answer.get("count") ?? 0);
  }

  /** The master's explanation of a target, bounded in size. @throws SaltworksError as `matchTarget` */
  explainTarget(target: AskedTarget): Promise<ValueMap> {
    return this.#askTarget("saltworks.explain_target", target);
  }

  async #askTarget(
    fun: string,
    { target, targetKind, delimiter }: AskedTarget,
    more: { readonly [name: string]: Encodable } = {},
  ): Promise<ValueMap> {
    await this.reach();
    const { value, isSuccess } = await this.wheel(fun, { tgt: target, tgt_type: targetKind, delimiter, ...more });
    if (isSuccess && value instanceof Map) return value;
    throw new SaltworksError("TARGET_INVALID", String(value));
  }

  /** Connects to the event bus and disconnects: fails at once if no master runs. @throws SaltworksError MASTER_UNREACHABLE */
  async reach(): Promise<void> {
    const nothing = () => undefined;
    const link = await this.#contact(() => this.#connect(this.#eventPath(), { onEvent: nothing, onClose: nothing }));
    link.close();
  }

  /** Abandons all requests under way. Later requests fail with CHANNEL_CLOSED. */
  close(): void {
    if (this.#hub === undefined) this.#channels.close();
  }

  /** Whole loads of stored returns by minion id. Undefined if they are too large for one reply. */
  async #storedReturns(jid: string, ids: readonly string[]): Promise<ValueMap | undefined> {
    const { value, isSuccess } = await this.wheel("saltworks.returns", { jid, ids });
    return isSuccess && value instanceof Map ? value : undefined;
  }

  async #jobEnd(jid: string): Promise<JobEnd | "running" | "unknown"> {
    const { value, isSuccess } = await this.wheel("saltworks.job_end", { jid });
    const state = isSuccess && value instanceof Map ? textField(value, "state") : undefined;
    return state === "running" ? state : state === "over" ? toJobEnd(value) : "unknown";
  }

  #eventPath(): string {
    return join(this.#config.sock_dir, "master_event_pub.ipc");
  }

  /** Runs `step`. If no master runs, the error has Salt's sentence for that. */
  async #contact<Result>(step: () => Promise<Result>): Promise<Result> {
    try {
      return await step();
    } catch (error) {
      if (!hasCode(error, "MASTER_UNREACHABLE")) throw error;
      const detail = { socket: this.#eventPath() };
      throw new SaltworksError("MASTER_UNREACHABLE", notContactedText, detail, { cause: error });
    }
  }
}
