/**
 * Runs the clear commands of operators: `publish`, `runner`, `wheel` and tokens. A worker has checked keys; tokens and passwords are checked here.
 * Replies have Salt's structure. docs/protocol.md sections 7.2 and 11.2.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { RunnerCaller } from "../../runners/contract/contract.ts";
import { isReading } from "../../runners/reading.ts";
import { isUsableJid } from "../../wire/jid.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { type Encodable, Packed, type Value, type ValueMap } from "../../wire/values.ts";
import type { Caller } from "../../workers/messages/deferred.ts";
import { reactorUser } from "../../workers/messages/reactor.ts";
import type { RunnerResult } from "../../workers/messages/runner.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Audit, AuditedWork, AuditNote } from "../audit/audit.ts";
import type { Batches } from "../batch-jobs/batches.ts";
import type { DeliverWithin, FollowTimes, Jobs } from "../jobs/jobs.ts";
import type { Fire, Job, Published, Publisher } from "../publish/publisher.ts";
import { setFieldsForSyndics } from "../publish/syndic-fields.ts";
import type { SidecarCalls } from "../sidecar/sidecar-calls.ts";
import { isOwnClient, toJob } from "./asked-job.ts";
import { type Authorisation, followFunctions, type Identity } from "./authorisation.ts";
import { argumentsOf, asMap, givenJid, isAskedToRead } from "./call-fields.ts";
import type { OperatorConnection } from "./connection.ts";
import { errorReply, notReading, refusedCall, refusedTarget, unknownCaller } from "./error-replies.ts";
import { type DirectFunction, jobFunctions } from "./job-status.ts";
import { fieldsOfLoad } from "./operator-load.ts";
import type { RunnerAsks } from "./runner-asks.ts";
import type { RunnerCalls } from "./runner-calls.ts";
import { RunnerLaneCalls } from "./runner-lane-calls.ts";

export type CommandsOptions = {
  readonly publisher: Publisher;
  readonly jobs: Jobs;
  readonly batches: Pick<Batches, "begin">;
  readonly runners: LanePool;
  readonly sidecar: SidecarCalls | undefined;
  readonly calls: RunnerCalls;
  readonly fire: Fire;
  readonly asks: RunnerAsks;
  readonly authorisation: Authorisation;
  /** Wheel functions that the main thread answers without events, even while all runners are busy. */
  readonly direct: ReadonlyMap<string, DirectFunction>;
  readonly logger: Logger;
  readonly config: MasterConfig;
  readonly audit?: Pick<Audit, "about"> | undefined;
  /** Resolves when another job cache has what was stored before, or if it takes too long. */
  readonly untilCopied: () => Promise<void>;
};

const secondsMax = 86_400 * 365;
/** Salt's defaults, for clients that give no times. */
const defaultTimes = { timeoutMs: 5_000, gatherTimeoutMs: 10_000 };
/** Functions whose arguments and results are secret: only the caller sees them. */
const secretFunctions: ReadonlySet<string> = new Set(["auth.mk_token", "auth.del_token"]);
const hiddenText = "**********";

export class Commands {
  readonly #options: CommandsOptions;
  readonly #direct: ReadonlyMap<string, DirectFunction>;
  readonly #lane: RunnerLaneCalls;

  constructor(options: CommandsOptions) {
    this.#options = options;
    this.#lane = new RunnerLaneCalls(options);
    this.#direct = new Map([...options.direct, ...jobFunctions(options.jobs)]);
  }

  get orchestrations(): RunnerLaneCalls["orchestrations"] {
    return this.#lane.orchestrations;
  }

  /** Ends the orchestrations that run. */
  close(): void {
    this.#lane.close();
  }

  /** Answers an operator's request that a worker has passed on. */
  async answer(work: AuditedWork, reply: (frame: Uint8Array) => void, from: OperatorConnection): Promise<void> {
    const { authorisation, logger, audit } = this.#options;
    const address = work.clientAddress ?? from.address;
    const connection = { ...from, address, note: audit?.about(work, address) };
    if (work.kind === "publish") return reply(await this.publish(work.load, work.caller, connection));
    if (work.kind === "command") return await this.run(work.command, work.load, work.caller, reply, connection);
    if (work.kind === "readToken") {
      const kept = authorisation.readToken(work.token);
      if (kept === undefined) connection.note?.({ outcome: "unauthenticated" });
      else await this.#proveByToken(work.token, connection);
      return reply(encode(kept ?? new Map(), "raw"));
    }
    try {
      const made = await authorisation.makeToken(work.credential, work.expireSeconds, connection.address);
      connection.note?.({ outcome: made === undefined ? "unauthenticated" : "authentic" });
      if (made !== undefined) await this.#proveByToken(String(made.get("token")), connection);
      reply(encode(made ?? "", "raw"));
    } catch (error) {
      logger.error({ err: error }, "a token could not be made");
      connection.note?.({ outcome: "failed" });
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
    if (identity === undefined) {
      connection.note?.({ outcome: "unauthenticated" });
      return encode(errorReply("AuthenticationError", "Authentication error occurred."), "raw");
    }
    prove(identity, connection);
    const fields = fieldsOfLoad(load, identity);
    if (typeof fields === "string") {
      connection.note?.({ ...noteOf(identity), outcome: "malformed" });
      return encode({ error: `The master could not publish: ${fields}` }, "raw");
    }
    // A restricted user could take over another user's job by its id.
    if (identity.grants !== undefined) fields.set("jid", "");
    setFieldsForSyndics(fields, identity.grants, this.#options.config);
    const job = { ...toJob(fields, identity.user), source: identity.source };
    const asked = { ...noteOf(identity), fun: job.fun, target: job.target, targetKind: job.targetKind, jid: job.jid };
    if (!(await authorisation.mayPublish(identity, caller.user, job))) {
      logger.warn({ user: identity.user, fun: job.fun }, "a publish was refused: its user may not do that");
      connection.note?.({ ...asked, outcome: "denied" });
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
      connection.note?.({ ...asked, outcome: "failed" });
      if (hasCode(error, "TARGET_INVALID")) return encode(refusedTarget((error as SaltworksError).message), "raw");
      this.#options.logger.error({ err: error }, "a publish failed");
      // Salt's command line shows a text in `error`. If the error stood in a load, it would only complain of the missing 'jid'.
      return encode({ error: `The master could not publish: ${(error as Error).message}` }, "raw");
    }
    if (published === undefined) {
      connection.note?.({ ...asked, outcome: "unmatched" });
      const error = `Master could not resolve minions for target ${targetText(job.target)}`;
      return encode({ enc: "clear", load: { jid: null, minions: [], error } }, "raw");
    }
    // Salt's clients ask `master_job_cache` for the job before they look at returns.
    if (!isOwnClient(fields)) await this.#options.untilCopied();
    const { jid, minions, missing } = published;
    connection.note?.({ ...asked, outcome: "published", jid, minions: minions.count });
    const reply = { jid, minions: minions.packed, missing };
    // Only our own clients read the reasons why named minions cannot get the job.
    const reasons =
      follow === undefined || missing.length === 0 || identity.grants !== undefined
        ? {}
        : { reasons: this.#options.jobs.keyReasons(missing) };
    const waits = isOwnClient(fields)
      ? { waits_until: this.#options.jobs.waitsUntilMs(jid), may_grow: this.#options.config.order_masters }
      : {};
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
    if (identity === undefined) {
      connection.note?.({ outcome: "unauthenticated" });
      return reply(encode(unknownCaller(caller), "raw"));
    }
    prove(identity, connection);
    const { user } = identity;
    const { authorisation } = this.#options;
    const fields = fieldsOfLoad(load, identity);
    if (typeof fields === "string") {
      connection.note?.({ ...noteOf(identity), outcome: "malformed" });
      return reply(encode(errorReply("SaltInvocationError", `The master refuses the call: ${fields}`), "raw"));
    }
    const jidAsked = identity.grants === undefined ? givenJid(fields) : undefined;
    const jid = jidAsked ?? this.#options.publisher.newJid();
    const name = String(fields.get("fun") ?? "");
    const tag = `${command === "runner" ? "salt/run" : "salt/wheel"}/${jid}`;
    const isSync = command === "wheel" || fields.get("sync") === true;
    const { args, kwargs } = argumentsOf(command, fields);
    const isName = typeof fields.get("fun") === "string" && !name.includes(",");
    const decision = !isName ? "malformed" : authorisation.mayCall(identity, command, { fun: name, args, kwargs });
    const asked = { ...noteOf(identity), fun: fields.get("fun"), jid };
    if (decision === "denied" || decision === "malformed") {
      connection.note?.({ ...asked, outcome: decision });
      return reply(encode(refusedCall(caller, user, decision), "raw"));
    }
    // Clients follow their jobs by these, some times in a second.
    const isNoted = !(command === "wheel" && followFunctions.has(name));
    const note = (outcome: AuditNote["outcome"]) => (isNoted ? connection.note?.({ ...asked, outcome }) : undefined);
    const head = { fun: `${command}.${name}`, jid, ...(isLikeRunner(command, user) ? {} : { tag }), user };
    const direct = command === "wheel" ? this.#direct.get(name) : undefined;
    if (direct !== undefined) {
      const answer = await outcomeOf(direct(kwargs, authorisation.askerOf(identity)));
      note(answer.success ? "succeeded" : "failed");
      return reply(encode({ tag, data: { ...head, ...answer, _stamp: stampNow() } }, "raw"));
    }
    const isRestricted = isForMinion || identity.grants !== undefined;
    const isOwnOnly = decision === "own";
    const runCaller = { kind: command, jid, tag, user, isOwnOnly, isRestricted, isByEvent: !isSync };
    if (isAskedToRead(fields)) {
      note("succeeded");
      return reply(await this.#read(name, args, kwargs, runCaller, head));
    }
    if (!isSync) note("started");
    const isOwn = isOwnClient(fields);
    const isSuccess = await this.#call({ name, args, kwargs, head, runCaller, isSync, isOwn, reply });
    note(isSuccess ? "succeeded" : "failed");
  }

  /** Runs a call with its events, and stores a runner's as a job. @returns whether it succeeded */
  async #call({ name, args, kwargs, head, runCaller, isSync, isOwn, reply }: AskedRun): Promise<boolean> {
    const { jid, tag, user, kind: command, isRestricted } = runCaller;
    const startedStamp = stampNow();
    const isSecret = secretFunctions.has(name);
    const called = { ...head, fun_args: isSecret ? [hiddenText] : kwargs.size > 0 ? [...args, kwargs] : args };
    const facts = isLikeRunner(command, user) ? called : head;
    this.#options.fire(`${tag}/new`, facts);
    if (!isSync) reply(encode({ tag, jid }, "raw"));
    const { calls, logger } = this.#options;
    const call = { jid, fun: head.fun, user };
    const result = await calls.during(call, () => this.#lane.run(name, args, kwargs, runCaller));
    // The reply of an asynchronous call left before and had no notes, so they go to the log.
    if (!isSync && result.notes.length > 0) logger.info({ fun: head.fun, jid, notes: result.notes }, "a call's notes");
    const resultBytes = result.value.byteLength;
    // Stays packed, because a minion may have made the value, and decoding could take long.
    const shown = isSecret ? hiddenText : new Packed(result.value);
    const told = result.event === undefined || isSecret ? shown : new Packed(result.event);
    const failed = command === "runner" && !result.success ? { retcode: 1 } : {};
    const data = { ...facts, return: shown, success: result.success, ...failed };
    if (command === "runner") await calls.store({ ...call, data: { ...data, _stamp: startedStamp }, resultBytes });
    this.#options.fire(`${tag}/ret`, { ...data, return: told });
    if (!isSync) return result.success;
    // Only our own clients get these fields: Salt's would print them. `told`: 0 for a client that may not choose the job id to listen to.
    const own = isOwn ? { notes: result.notes, told: isRestricted ? 0 : result.callerEvents, ...codeOf(result) } : {};
    reply(encode({ tag, data: { ...data, return: new Packed(result.reply), ...own, _stamp: stampNow() } }, "raw"));
    return result.success;
  }

  /** Runs a function that only reads, without events and without a job. @returns the reply frame */
  async #read(
    name: string,
    args: Value[],
    kwargs: ValueMap,
    caller: RunnerCaller,
    head: { readonly [name: string]: Encodable },
  ): Promise<Uint8Array> {
    if (!isReading(caller.kind, name)) return encode(notReading(name), "raw");
    const result = await this.#lane.run(name, args, kwargs, caller);
    const { success, notes, reply } = result;
    const data = { ...head, return: new Packed(reply), success, notes, ...codeOf(result), _stamp: stampNow() };
    return encode({ tag: caller.tag, data }, "raw");
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
    const result = await this.#lane.run(fun, [], new Map(Object.entries(kwargs)), caller);
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
}

function codeOf({ code }: RunnerResult): { readonly code?: string } {
  return code === undefined ? {} : { code };
}

/** A call that is granted. */
type AskedRun = {
  readonly name: string;
  readonly args: Value[];
  readonly kwargs: ValueMap;
  readonly head: { readonly fun: string; readonly [name: string]: Encodable };
  readonly runCaller: RunnerCaller & { readonly isRestricted: boolean };
  readonly isSync: boolean;
  /** Whether the client reads notes beside a function's value. */
  readonly isOwn: boolean;
  readonly reply: (frame: Uint8Array) => void;
};

function noteOf({ user, source }: Identity): { readonly user: string; readonly eauth: string } {
  return { user, eauth: source?.kind === "eauth" ? source.eauth : "local" };
}

/** As in Salt, the events of the reactor's wheel calls look like those of runners. */
function isLikeRunner(command: "runner" | "wheel", user: string): boolean {
  return command === "runner" || user === reactorUser;
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

/** A list target is written as Python prints a list, as in Salt. */
function targetText(target: string | readonly string[]): string {
  return typeof target === "string" ? target : `[${target.map((id) => `'${id}'`).join(", ")}]`;
}
