/**
 * Runs the clear commands of operators: `publish`, `runner`, `wheel` and tokens. A worker has checked keys; tokens and passwords are checked here.
 * Replies have Salt's structure. docs/protocol.md sections 7.2 and 11.2.
 */
import { MessageChannel } from "node:worker_threads";
import type { Logger } from "pino";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { RunnerCaller } from "../../runners/contract/contract.ts";
import { isUsableJid } from "../../wire/jid.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { type Encodable, Packed, type Value, type ValueMap } from "../../wire/values.ts";
import type { Caller, Deferred } from "../../workers/messages/deferred.ts";
import type { RunnerAsk, RunnerResult, RunnerTask } from "../../workers/messages/runner.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Batches } from "../batch-jobs/batches.ts";
import type { DeliverWithin, FollowTimes, Jobs } from "../jobs/jobs.ts";
import type { Fire, Job, Published, Publisher } from "../publish/publisher.ts";
import type { Authorisation, Identity } from "./authorisation.ts";
import type { OperatorConnection } from "./connection.ts";
import { errorReply, refusedCall, refusedTarget, unknownCaller } from "./error-replies.ts";
import { type DirectFunction, jobFunctions } from "./job-status.ts";
import { fieldsOfLoad } from "./operator-load.ts";
import { answerRunner, type RunnerAsks } from "./runner-asks.ts";
import type { RunnerCalls } from "./runner-calls.ts";

export type CommandsOptions = {
  readonly publisher: Publisher;
  readonly jobs: Jobs;
  readonly batches: Pick<Batches, "begin">;
  readonly runners: LanePool;
  readonly calls: RunnerCalls;
  readonly fire: Fire;
  readonly asks: RunnerAsks;
  readonly authorisation: Authorisation;
  /** Wheel functions that the main thread answers without events, even while all runners are busy. */
  readonly direct: ReadonlyMap<string, DirectFunction>;
  readonly logger: Logger;
};

/** Fields of a publish request's kwargs that the minions see, in Salt's order. */
const forwardedKwargs = ["ret_config", "metadata", "module_executors", "executor_opts", "ret_kwargs"] as const;
const secondsMax = 86_400 * 365;
/** Salt's defaults, for clients that give no times. */
const defaultTimes = { timeoutMs: 5_000, gatherTimeoutMs: 10_000 };
/** A job id as the master makes it; with a process id if `unique_jid` is set. */
const jidPattern = /^\d{20}(?:_\d{1,10})?$/;
/** Credentials, in a publish's `kwargs` or beside the job. They are neither kept nor passed on. */
const credentialNames = ["key", "token", "eauth", "username", "password", "client_address"] as const;
/** Set in requests of our own clients, which read more fields of a reply than Salt's. */
const ownMark = "__notes__";
/** Functions whose arguments and results are secret: only the caller sees them. */
const secretFunctions: ReadonlySet<string> = new Set(["auth.mk_token", "auth.del_token"]);
const hiddenText = "**********";
/** Fields of a wheel request that are not arguments. */
const credentialFields: readonly string[] =
  "cmd fun key user client_address arg kwarg client eauth token username password full_return print_event __notes__ __jid__ __tag__ __user__".split(
    " ",
  );

export class Commands {
  readonly #options: CommandsOptions;
  readonly #direct: ReadonlyMap<string, DirectFunction>;

  constructor(options: CommandsOptions) {
    this.#options = options;
    this.#direct = new Map([...options.direct, ...jobFunctions(options.jobs)]);
  }

  /** Answers an operator's request that a worker has passed on. */
  async answer(
    work: Extract<Deferred, { kind: "publish" | "command" | "makeToken" | "readToken" }>,
    reply: (frame: Uint8Array) => void,
    from: OperatorConnection,
  ): Promise<void> {
    const { authorisation, logger } = this.#options;
    const connection = { ...from, address: work.clientAddress ?? from.address };
    if (work.kind === "publish") return reply(await this.publish(work.load, work.caller, connection));
    if (work.kind === "command") return await this.run(work.command, work.load, work.caller, reply, connection);
    if (work.kind === "readToken") {
      const kept = authorisation.readToken(work.token);
      if (kept !== undefined) await this.#proveByToken(work.token, connection);
      return reply(encode(kept ?? new Map(), "raw"));
    }
    try {
      const made = await authorisation.makeToken(work.credential, work.expireSeconds, connection.address);
      if (made !== undefined) await this.#proveByToken(String(made.get("token")), connection);
      reply(encode(made ?? "", "raw"));
    } catch (error) {
      logger.error({ err: error }, "a token could not be made");
      reply(encode("", "raw"));
    }
  }

  async #proveByToken(token: string, connection: OperatorConnection): Promise<void> {
    const identity = await this.#options.authorisation.identify({ kind: "token", user: "", token }, connection.address);
    if (identity !== undefined) prove(identity, connection);
  }

  /** Removes tokens that have expired. */
  sweepTokens(nowMs: number): Promise<void> {
    return this.#options.authorisation.sweep(nowMs);
  }

  /** @returns the reply frame */
  async publish(load: Uint8Array, caller: Caller, connection: OperatorConnection): Promise<Uint8Array> {
    const { authorisation, fire, logger } = this.#options;
    const identity = await authorisation.identify(caller, connection.address);
    // No event: a flood of failed logins would make subscribers lose other events.
    if (identity === undefined)
      return encode(errorReply("AuthenticationError", "Authentication error occurred."), "raw");
    prove(identity, connection);
    const fields = fieldsOfLoad(load, identity);
    if (typeof fields === "string") return encode({ error: `The master could not publish: ${fields}` }, "raw");
    // A restricted user could take over another user's job by its id.
    if (identity.grants !== undefined) fields.set("jid", "");
    const job = { ...toJob(fields, identity.user), source: identity.source };
    if (!(await authorisation.mayPublish(identity, caller.user, job))) {
      logger.warn({ user: identity.user, fun: job.fun }, "a publish was refused: its user may not do that");
      const refused = errorReply("AuthorizationError", "Authorization error occurred.");
      fire(
        ["salt/job", job.jid, "error"].filter(Boolean).join("/"),
        new Map([...job.load, ...Object.entries(refused)]),
      );
      return encode(refused, "raw");
    }
    const follow = followOf(fields);
    const batch = asMap(fields.get("kwargs")).get("batch");
    let published: Published | undefined;
    try {
      if (job.jid !== undefined && !isUsableJid(job.jid))
        throw new SaltworksError("FUNCTION_ARGUMENTS", "the job id has a slash or a control character, or is too long");
      const within = this.#deliverWithin(fields, job, batch instanceof Map);
      published =
        batch instanceof Map
          ? await this.#options.batches.begin(job, batch, follow ?? defaultTimes)
          : await this.#options.jobs.beginning((begin) =>
              this.#options.publisher.publish(job, (accepted) => begin(job, accepted, follow, within)),
            );
    } catch (error) {
      if (hasCode(error, "TARGET_INVALID")) return encode(refusedTarget((error as SaltworksError).message), "raw");
      this.#options.logger.error({ err: error }, "a publish failed");
      // Salt's command line shows a text in `error`. If the error stood in a load, it would only complain of the missing 'jid'.
      return encode({ error: `The master could not publish: ${(error as Error).message}` }, "raw");
    }
    if (published === undefined) {
      const error = `Master could not resolve minions for target ${targetText(job.target)}`;
      return encode({ enc: "clear", load: { jid: null, minions: [], error } }, "raw");
    }
    const { jid, minions, missing } = published;
    const reply = { jid, minions: minions.packed, missing };
    // Only our own clients read the reasons why named minions cannot get the job.
    const reasons =
      follow === undefined || missing.length === 0 || identity.grants !== undefined
        ? {}
        : { reasons: this.#options.jobs.keyReasons(missing) };
    const waits = isOwnClient(fields) ? { waits_until: this.#options.jobs.waitsUntilMs(jid) } : {};
    return encode({ enc: "clear", load: { ...reply, ...reasons, ...waits } }, "raw");
  }

  /** Runs a runner or wheel function. `sync` runners and all wheel functions are answered with the result, others at once with Salt's tag and jid. */
  async run(
    command: "runner" | "wheel",
    load: Uint8Array,
    caller: Caller,
    reply: (frame: Uint8Array) => void,
    connection: OperatorConnection,
    isForMinion = false,
  ): Promise<void> {
    const identity = await this.#options.authorisation.identify(caller, connection.address);
    if (identity === undefined) return reply(encode(unknownCaller(caller), "raw"));
    prove(identity, connection);
    const { user } = identity;
    const { authorisation } = this.#options;
    const fields = fieldsOfLoad(load, identity);
    if (typeof fields === "string")
      return reply(encode(errorReply("SaltInvocationError", `The master refuses the call: ${fields}`), "raw"));
    const jidAsked = identity.grants === undefined ? givenJid(fields) : undefined;
    const jid = jidAsked ?? this.#options.publisher.newJid();
    const name = String(fields.get("fun") ?? "");
    const tag = `${command === "runner" ? "salt/run" : "salt/wheel"}/${jid}`;
    const isSync = command === "wheel" || fields.get("sync") === true;
    const { args, kwargs } = command === "runner" ? runnerArguments(fields) : wheelArguments(fields);
    const isName = typeof fields.get("fun") === "string" && !name.includes(",");
    const decision = !isName ? "malformed" : authorisation.mayCall(identity, command, { fun: name, args, kwargs });
    if (decision === "denied" || decision === "malformed")
      return reply(encode(refusedCall(caller, user, decision), "raw"));
    const head = { fun: `${command}.${name}`, jid, ...(command === "wheel" ? { tag } : {}), user };
    const finished = (data: Encodable) => encode({ tag, data }, "raw");
    const direct = command === "wheel" ? this.#direct.get(name) : undefined;
    if (direct !== undefined) {
      const answer = direct(kwargs, authorisation.askerOf(identity));
      reply(finished({ ...head, ...(await outcomeOf(answer)), _stamp: stampNow() }));
      return;
    }
    const startedStamp = stampNow();
    const isSecret = secretFunctions.has(name);
    const called = { ...head, fun_args: isSecret ? [hiddenText] : kwargs.size > 0 ? [...args, kwargs] : args };
    this.#options.fire(`${tag}/new`, command === "runner" ? called : head);
    if (!isSync) reply(encode({ tag, jid }, "raw"));
    const { calls, logger } = this.#options;
    const call = { jid, fun: head.fun, user };
    const isRestricted = isForMinion || identity.grants !== undefined;
    const result = await calls.during(call, () =>
      this.#runInLane(name, args, kwargs, {
        kind: command,
        jid,
        tag,
        user,
        isOwnOnly: decision === "own",
        isRestricted,
        isByEvent: !isSync,
      }),
    );
    // The reply of an asynchronous call left before and had no notes, so they go to the log.
    if (!isSync && result.notes.length > 0) logger.info({ fun: head.fun, jid, notes: result.notes }, "a call's notes");
    const resultBytes = result.value.byteLength;
    // Stays packed, because a minion may have made the value, and decoding could take long.
    const shown = isSecret ? hiddenText : new Packed(result.value);
    const told = result.event === undefined || isSecret ? shown : new Packed(result.event);
    const data = { ...(command === "runner" ? called : head), return: shown, success: result.success };
    if (command === "runner") await calls.store({ ...call, data: { ...data, _stamp: startedStamp }, resultBytes });
    this.#options.fire(`${tag}/ret`, { ...data, return: told });
    if (!isSync) return;
    // Only our own clients get these fields: Salt's would print them. `told`: 0 for a client that may not choose the job id to listen to.
    const { notes } = result;
    const own = isOwnClient(fields) ? { notes, told: identity.grants === undefined ? result.callerEvents : 0 } : {};
    reply(finished({ ...data, return: new Packed(result.reply), ...own, _stamp: stampNow() }));
  }

  /** The exit codes of a job's stored returns. @throws SaltworksError STORE_FAILED */
  async retcodes(jid: string): Promise<ReadonlyMap<string, number>> {
    const { value } = await this.#askLane("saltworks.retcodes", { jid });
    const found = decode(value);
    if (!(found instanceof Map)) throw new SaltworksError("STORE_FAILED", `${jid}: ${String(found)}`);
    return new Map([...found].map(([id, retcode]) => [String(id), Number(retcode)]));
  }

  /** The stored returns of a job, for the minion that published it, in network encoding. @throws SaltworksError STORE_FAILED */
  async peerReturns(jid: string, id: string, form: { waited: boolean; full: boolean }): Promise<Uint8Array> {
    return (await this.#askLane("saltworks.peer_returns", { jid, id, ...form })).reply;
  }

  /** Calls a function for the master itself, without events and without a job. @throws SaltworksError STORE_FAILED */
  async #askLane(fun: string, kwargs: { readonly [name: string]: Value }): Promise<RunnerResult> {
    const jid = this.#options.publisher.newJid();
    const caller = { kind: "wheel", jid, tag: "", user: "", isOwnOnly: false } as const;
    const result = await this.#runInLane(fun, [], new Map(Object.entries(kwargs)), caller);
    if (!result.success) throw new SaltworksError("STORE_FAILED", `${fun}: ${String(decode(result.value))}`);
    return result;
  }

  /** @throws SaltworksError FUNCTION_ARGUMENTS */
  #deliverWithin(fields: ValueMap, job: Job, isBatch: boolean): DeliverWithin | undefined {
    const asked = asMap(fields.get("kwargs")).get("deliver_within");
    if (!isBatch) return this.#options.jobs.deliverWithin(asked, job.fun);
    if (asked === undefined || asked === null) return undefined;
    throw new SaltworksError("FUNCTION_ARGUMENTS", "deliver_within is for a job to all at once, not for a batch");
  }

  async #runInLane(fun: string, args: Value[], kwargs: ValueMap, caller: RunnerCaller): Promise<RunnerResult> {
    const { port1, port2 } = new MessageChannel();
    port1.on("message", (ask: RunnerAsk) => {
      answerRunner(this.#options.asks, port1, ask, caller).catch((error: Error) =>
        this.#options.logger.error({ err: error }, "a runner's question failed"),
      );
    });
    const task: RunnerTask = { fun, args: encode(args, "bin"), kwargs: encode(kwargs, "bin"), caller, port: port2 };
    try {
      const result = await this.#options.runners.run<RunnerResult>(task, { transfer: [port2] });
      for (const fault of result.faults) this.#options.logger.error({ fault, fun }, "a runner met a fault");
      return result;
    } catch (error) {
      this.#options.logger.error({ err: error, fun }, "a runner failed");
      const text = `Exception occurred in ${caller.kind} ${fun}: ${(error as Error).message}`;
      const answer = { value: encode(text, "bin"), reply: encode(text, "raw") };
      return { ...answer, success: false, notes: [], faults: [], callerEvents: 0 };
    } finally {
      port1.close();
    }
  }
}

/** Marks the connection as proven, except for a user without any grant: every user of a directory has a password. */
function prove({ grants }: Identity, connection: OperatorConnection): void {
  if (grants === undefined || grants.length > 0) connection.prove();
}

/** A `SaltworksError` is the function's answer. Any other error is a bug of the master. */
async function outcomeOf(
  answer: Promise<Encodable>,
): Promise<{ readonly return: Encodable; readonly success: boolean }> {
  try {
    return { return: await answer, success: true };
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return { return: error.message, success: false };
  }
}

/** UTC time as Salt writes it. */
function stampNow(): string {
  return new Date().toISOString().slice(0, -1);
}

/** The job that a publish request or a stored load asks for. */
export function toJob(fields: ValueMap, user: string): Job {
  const kwargs = asMap(fields.get("kwargs"));
  kwargs.delete("follow");
  const load = new Map<Encodable, Encodable>(fields);
  load.delete(ownMark);
  for (const name of credentialNames) {
    kwargs.delete(name);
    load.delete(name);
  }
  if (load.has("user")) load.set("user", user);
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

function followOf(fields: ValueMap): FollowTimes | undefined {
  const follow = asMap(fields.get("kwargs")).get("follow");
  if (!(follow instanceof Map)) return undefined;
  const milliseconds = (name: string, otherwise: number) => {
    const value = Number(follow.get(name) ?? otherwise);
    return Math.round(Math.min(Number.isFinite(value) && value >= 0 ? value : otherwise, secondsMax) * 1_000);
  };
  const { timeoutMs, gatherTimeoutMs } = defaultTimes;
  return {
    timeoutMs: milliseconds("timeout", timeoutMs / 1_000),
    gatherTimeoutMs: milliseconds("gather_job_timeout", gatherTimeoutMs / 1_000),
    leavesAbsent: follow.get("leave_absent") === true,
  };
}

type CallArguments = { readonly args: Value[]; readonly kwargs: ValueMap };

/** Our own client names them `arg` and `kwarg`; Salt's packs both into `kwarg`. */
function runnerArguments(fields: ValueMap): CallArguments {
  const kwarg = asMap(fields.get("kwarg"));
  const [args, kwargs] = [kwarg.get("arg"), kwarg.get("kwarg")];
  if (Array.isArray(args) && kwargs instanceof Map) return { args, kwargs: new Map(kwargs) };
  return { args: asList(fields.get("arg")), kwargs: kwarg };
}

/** A wheel function's arguments stand beside `fun` by name, or in `arg` and `kwarg`. */
function wheelArguments(fields: ValueMap): CallArguments {
  const kwarg = fields.get("kwarg");
  if (Array.isArray(fields.get("arg")) || kwarg instanceof Map)
    return { args: asList(fields.get("arg")), kwargs: asMap(kwarg) };
  const kwargs = new Map(fields);
  for (const name of credentialFields) kwargs.delete(name);
  return { args: [], kwargs };
}

/** Whether the client reads notes beside a function's value. */
function isOwnClient(fields: ValueMap): boolean {
  return fields.get(ownMark) === true;
}

/** The job id that a client chose, so that it receives the call's events from the start. */
function givenJid(fields: ValueMap): string | undefined {
  const jid = fields.get("__jid__");
  return typeof jid === "string" && jidPattern.test(jid) ? jid : undefined;
}

function asList(value: Value | undefined): Value[] {
  return Array.isArray(value) ? value : [];
}

function asMap(value: Value | undefined): ValueMap {
  return value instanceof Map ? new Map(value) : new Map();
}

/** A list target is written as Python prints a list, as in Salt. */
function targetText(target: string | readonly string[]): string {
  return typeof target === "string" ? target : `[${target.map((id) => `'${id}'`).join(", ")}]`;
}
