/**
 * Answers minions that publish to other minions, ask for the returns, or call runners, as `peer` and `peer_run` permit. Their jobs and runner calls
 * take the same path as an operator's. The number of such requests under way is bounded. docs/protocol.md section 7.1.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { peerRefusalLogMs, peerRequestsMax, peerRunsMax, peerWaitMsMax } from "../../limits.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { pickEntries } from "../../wire/pick.ts";
import type { TextList } from "../../wire/text-list.ts";
import type { Encodable, Value } from "../../wire/values.ts";
import { mapEntries } from "../../wire/walk.ts";
import type { PeerAsk, PeerPublish, PeerRun } from "../../workers/messages/deferred.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import type { Audit, NoteAudit } from "../audit/audit.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Commands } from "../operators/commands.ts";
import { noConnection } from "../operators/connection.ts";
import { PeerRules } from "../operators/peer-rules.ts";
import { isBlacklisted } from "../operators/permissions.ts";
import { ownJob } from "../publish/own-job.ts";
import type { Job, Published, Publisher } from "../publish/publisher.ts";
import type { Targets } from "../publish/targets.ts";

export type PeersOptions = {
  readonly config: Pick<
    MasterConfig,
    "peer" | "peer_run" | "publisher_acl_blacklist" | "user" | "ext_job_cache" | "gather_job_timeout"
  >;
  readonly pool: Pick<WorkerPool, "offer" | "slotCount">;
  readonly partitioner: Partitioner;
  readonly publisher: Pick<Publisher, "publish">;
  readonly jobs: Pick<Jobs, "beginning" | "deliverWithin" | "tracker">;
  readonly targets: Pick<Targets, "written" | "expected">;
  /** Runs a minion's runner call as the master's own user, waits for its result, and returns the reply frame. */
  readonly run: (load: Uint8Array) => Promise<Uint8Array>;
  /** A job's returns in network encoding, for the minion that published it; nothing for another minion. */
  readonly returnsOf: (jid: string, id: string, form: { waited: boolean; full: boolean }) => Promise<Uint8Array>;
  readonly logger: Pick<Logger, "warn" | "error">;
  readonly requestsMax?: number;
  readonly audit?: Pick<Audit, "ofMinion"> | undefined;
};

const nothing = encode(new Map(), "raw");
const successOnly = new Set(["success"]);

export class Peers {
  readonly counters = { published: 0, unmatched: 0, denied: 0, runs: 0, returns: 0, refused: 0 };
  readonly #options: PeersOptions;
  readonly #rules: PeerRules;
  readonly #requestsMax: number;
  #pending = 0;
  #running = 0;
  #deniedSinceLog = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#rules = new PeerRules(options.config);
    this.#requestsMax = options.requestsMax ?? peerRequestsMax;
    for (const fault of this.#rules.faults)
      options.logger.error({ fault }, "a permission of peer or peer_run is ignored");
  }

  /** Requests under way. */
  get pending(): number {
    return this.#pending;
  }

  /** @returns the encrypted reply. @throws SaltworksError what publishing, the runner lane or the pool throw */
  async answer(ask: PeerAsk): Promise<Uint8Array> {
    if (this.#pending >= this.#requestsMax) return await this.#seal(ask, this.#overload(ask));
    this.#pending += 1;
    try {
      return await this.#seal(ask, await this.#answerOf(ask));
    } finally {
      this.#pending -= 1;
    }
  }

  async #answerOf(ask: PeerAsk): Promise<Uint8Array> {
    if (ask.command === "returns") return await this.#returns(ask.id, ask.jid);
    if (ask.command === "run") return await this.#run(ask.id, ask);
    const job = await this.#permittedJob(ask.id, ask);
    const note = this.#options.audit?.ofMinion(ask.id, "local");
    if (job === undefined) {
      note?.({ outcome: "denied", fun: ask.fun, target: decode(ask.target), targetKind: ask.targetKind });
      return this.#denied(ask.id, ask.fun);
    }
    return ask.wait === undefined
      ? await this.#publish(job, note)
      : await this.#publishAndWait(ask.id, job, ask.wait, note);
  }

  /**
   * Answers with a sentence, because an empty map would look like minions that do not answer. Minions that ask
   * for returns get nothing: they ask again.
   */
  #overload({ command }: PeerAsk): Uint8Array {
    if (command !== "returns") return this.#refusal(this.#requestsMax, "requests");
    this.counters.refused += 1;
    return nothing;
  }

  #refusal(max: number, what: string): Uint8Array {
    this.counters.refused += 1;
    return encode(`refused by the master: ${max} ${what} of minions are under way`, "raw");
  }

  /** Answers with an empty map, as Salt: the minion does not learn why. */
  #denied(id: string, fun: string): Uint8Array {
    this.counters.denied += 1;
    this.#deniedSinceLog += 1;
    const nowMs = performance.now();
    if (nowMs - this.#loggedMs >= peerRefusalLogMs) {
      this.#loggedMs = nowMs;
      this.#options.logger.warn(
        { minion: id, fun, count: this.#deniedSinceLog },
        "a minion may not publish or run this",
      );
      this.#deniedSinceLog = 0;
    }
    return nothing;
  }

  /** @returns undefined if it is not permitted */
  async #permittedJob(id: string, ask: PeerPublish): Promise<Job | undefined> {
    const { targets, config } = this.#options;
    const target = decode(ask.target) as string | string[];
    // Salt takes any target type that begins with "node" for a nodegroup.
    const targetKind = ask.targetKind.startsWith("node") ? "nodegroup" : ask.targetKind;
    if (isBlacklisted(config.publisher_acl_blacklist, config.user, [ask.fun])) return undefined;
    try {
      const written = targets.written({ target, targetKind, delimiter: ":" });
      const targeted = new TargetedMinions(targets, written);
      const call = { fun: ask.fun, args: decode(ask.sent) as Value[], kwargs: undefined };
      if (!(await this.#rules.mayPublish(id, call, (limit) => targeted.isWithin(limit)))) return undefined;
      // Nodegroups of the master are safe, because their expressions are not the minion's choice.
      if (targetKind !== "nodegroup" && !(await targeted.isExact())) return undefined;
      const arg = decode(ask.arg) as Value[];
      const ret = [ask.ret, config.ext_job_cache].filter((returner) => returner !== "").join(",");
      const job = ownJob(ask.fun, arg, written.target, written.targetKind, config.user);
      const load = new Map<Encodable, Encodable>([...job.load, ["ret", ret], ["kwargs", { id }]]);
      const source = { kind: "peer", user: config.user, minion: id } as const;
      return { ...job, ret, load, publishFields: new Map([["id", id]]), source };
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID")) throw error;
      return undefined;
    }
  }

  async #publish(job: Job, note: NoteAudit | undefined): Promise<Uint8Array> {
    const { jobs } = this.#options;
    const within = jobs.deliverWithin(undefined, job.fun);
    const published = await jobs.beginning((begin) =>
      this.#published(job, note, (accepted) => begin(job, accepted, undefined, within)),
    );
    // The result of Salt's own client for a publish without a job id.
    if (published === undefined) return encode({ jid: 0, minions: [] }, "raw");
    return encode({ jid: published.jid, minions: published.minions.packed }, "raw");
  }

  async #publishAndWait(
    id: string,
    job: Job,
    wait: NonNullable<PeerPublish["wait"]>,
    note: NoteAudit | undefined,
  ): Promise<Uint8Array> {
    const { jobs, config, returnsOf } = this.#options;
    let onDone = () => {};
    const over = new Promise<void>((resolve) => {
      onDone = resolve;
    });
    const published = await this.#published(job, note, ({ jid, minions, missing }) =>
      jobs.tracker.follow({
        jid,
        minions,
        missing,
        fun: String(job.fun),
        timeoutMs: wait.timeoutMs,
        gatherTimeoutMs: config.gather_job_timeout * 1_000,
        onDone,
      }),
    );
    if (published === undefined) return nothing;
    // The wait ends after `peerWaitMsMax` even if a minion still runs the job. The tracker follows the job further.
    const timer = setTimeout(onDone, peerWaitMsMax);
    await over;
    clearTimeout(timer);
    return await returnsOf(published.jid, id, { waited: true, full: wait.isFull });
  }

  async #published(
    job: Job,
    note: NoteAudit | undefined,
    onAccepted: (published: Published) => Promise<void> | void,
  ): Promise<Published | undefined> {
    const asked = { fun: job.fun, target: job.target, targetKind: job.targetKind };
    const published = await this.#options.publisher.publish(job, onAccepted).catch((error: unknown) => {
      note?.({ ...asked, outcome: "failed" });
      throw error;
    });
    if (published === undefined) note?.({ ...asked, outcome: "unmatched" });
    else note?.({ ...asked, outcome: "published", jid: published.jid, minions: published.minions.count });
    this.counters[published === undefined ? "unmatched" : "published"] += 1;
    return published;
  }

  async #run(id: string, { fun, arg }: PeerRun): Promise<Uint8Array> {
    const note = this.#options.audit?.ofMinion(id, "runner");
    if (!(await this.#rules.mayRun(id, fun))) {
      note?.({ outcome: "denied", fun });
      return this.#denied(id, fun);
    }
    if (this.#running >= peerRunsMax) return this.#refusal(peerRunsMax, "runner calls");
    this.counters.runs += 1;
    this.#running += 1;
    const load = encode({ cmd: "runner", fun, kwarg: { arg: decode(arg), kwarg: {} }, sync: true }, "raw");
    try {
      const data = memberOf(await this.#options.run(load), "data");
      const isSuccess = pickEntries(data, successOnly).get("success") === true;
      const result = memberOf(data, "return");
      note?.({ outcome: isSuccess ? "succeeded" : "failed", fun });
      return result;
    } catch (error) {
      note?.({ outcome: "failed", fun });
      throw error;
    } finally {
      this.#running -= 1;
    }
  }

  /** Does not read the store while nothing has returned, because minions ask three times a second. */
  async #returns(id: string, jid: string): Promise<Uint8Array> {
    this.counters.returns += 1;
    const { jobs, returnsOf } = this.#options;
    return jobs.tracker.record(jid)?.returnedCount === 0
      ? nothing
      : await returnsOf(jid, id, { waited: false, full: false });
  }

  #seal({ id, seal }: PeerAsk, packed: Uint8Array): Promise<Uint8Array> {
    const { pool, partitioner } = this.#options;
    const task = { kind: "sealReply", id, seal, parts: [packed] };
    const build = () => ({ task, transfer: [] });
    return pool.offer<Uint8Array>(partitioner.slotOf(id, pool.slotCount), { bytes: packed.byteLength, build });
  }
}

/** Parts of the master that minions' jobs and runner calls pass through. */
export type PeerJobs = Pick<PeersOptions, "publisher" | "jobs" | "targets"> & {
  readonly commands: Pick<Commands, "run" | "peerReturns">;
};

/** A minion's runner call runs as the master's own user, but without that user's private functions. */
export function peersOf(
  parts: Pick<PeersOptions, "pool" | "partitioner" | "logger" | "audit"> & { readonly config: MasterConfig },
  { publisher, jobs, targets, commands }: PeerJobs,
): Peers {
  const caller = { kind: "key", user: parts.config.user, isMaster: true } as const;
  const run = (load: Uint8Array) =>
    new Promise<Uint8Array>((resolve, reject) => {
      commands.run("runner", load, caller, resolve, noConnection, true).catch(reject);
    });
  const { config, pool, partitioner, logger, audit } = parts;
  return new Peers({
    ...{ config, pool, partitioner, logger, audit, publisher, jobs, targets, run },
    returnsOf: (jid, id, form) => commands.peerReturns(jid, id, form),
  });
}

/** The minions that a target reaches. They are matched once for all grants. */
class TargetedMinions {
  readonly #targets: PeersOptions["targets"];
  readonly #written: AskedTarget;
  #expected: Promise<TextList> | undefined;

  constructor(targets: PeersOptions["targets"], written: AskedTarget) {
    this.#targets = targets;
    this.#written = written;
  }

  /**
   * Whether the target reaches only minions of `limit`. Minions without data count as reached, but not as minions of a limit that matches by data.
   */
  async isWithin(limit: string): Promise<boolean> {
    try {
      return await this.#isAmong({ target: limit, targetKind: "compound", delimiter: ":" }, false);
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID")) throw error;
      return false;
    }
  }

  /** Whether the target reaches only minions with exactly its pillar values. With patterns a minion could probe for other minions' pillar values. */
  async isExact(): Promise<boolean> {
    const targetKind = exactKinds.get(this.#written.targetKind.toLowerCase());
    return targetKind === undefined || (await this.#isAmong({ ...this.#written, targetKind }, true));
  }

  async #isAmong(target: AskedTarget, isGreedy: boolean): Promise<boolean> {
    this.#expected ??= this.#targets.expected(this.#written).then(({ minions }) => minions);
    const reached = await this.#expected;
    const { minions } = await this.#targets.expected(this.#targets.written(target), isGreedy);
    const among = new Set(minions.texts());
    return reached.texts().every((id) => among.has(id));
  }
}

const exactKinds: ReadonlyMap<string, string> = new Map([
  ["pillar", "pillar_exact"],
  ["pillar_pcre", "pillar_exact"],
  ["compound", "compound_pillar_exact"],
]);

/** One member of an encoded map, still encoded. @throws SaltworksError WIRE_MALFORMED */
function memberOf(map: Uint8Array, key: string): Uint8Array {
  const entry = mapEntries(map)?.find((candidate) => candidate.key === key);
  if (entry === undefined) throw new SaltworksError("WIRE_MALFORMED", `a reply without ${key}`);
  return map.subarray(entry.valueStart, entry.valueEnd);
}
