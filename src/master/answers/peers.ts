/**
 * Answers minions that publish to others, ask for the returns, or call runners, as `peer` and `peer_run` permit. Their jobs and runner calls take the
 * same path as all others. The number of such requests under way is bounded. docs/protocol.md section 7.1.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { peerRefusalLogMs, peerRequestsMax, peerRunsMax, peerWaitMsMax } from "../../limits.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { TextList } from "../../wire/text-list.ts";
import type { Encodable, Value } from "../../wire/values.ts";
import { mapEntries } from "../../wire/walk.ts";
import type { PeerAsk, PeerPublish, PeerRun } from "../../workers/messages/deferred.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { ShardPool } from "../../workers/threads/pool.ts";
import type { JobKeeping } from "../jobs/keeping.ts";
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
  readonly pool: Pick<ShardPool, "offer" | "slotCount">;
  readonly partitioner: Partitioner;
  readonly publisher: Pick<Publisher, "publish">;
  readonly keeping: Pick<JobKeeping, "beginning" | "deliverWithin" | "tracker">;
  readonly targets: Pick<Targets, "written" | "expected">;
  /** Runs a local user's runner request, waits for its result, and returns the reply frame. */
  readonly run: (load: Uint8Array) => Promise<Uint8Array>;
  /** Returns of a job, network encoding, for the minion that published it; nothing for others. */
  readonly returnsOf: (jid: string, id: string, form: { waited: boolean; full: boolean }) => Promise<Uint8Array>;
  readonly logger: Pick<Logger, "warn" | "error">;
  readonly requestsMax?: number;
};

const nothing = encode(new Map(), "raw");

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
      options.logger.error({ fault }, "a permission of peer or peer_run is not read");
  }

  /** Requests under way. */
  get pending(): number {
    return this.#pending;
  }

  /** The whole reply. @throws SaltworksError what publishing, the runner lane or the pool throw */
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
    if (job === undefined) return this.#denied(ask.id, ask.fun);
    return ask.wait === undefined ? await this.#publish(job) : await this.#publishAndWait(ask.id, job, ask.wait);
  }

  /** A sentence instead of a map, because an empty map would look like minions that do not answer. Minions ask for returns again. */
  #overload({ command }: PeerAsk): Uint8Array {
    if (command !== "returns") return this.#refusal(this.#requestsMax, "requests");
    this.counters.refused += 1;
    return nothing;
  }

  #refusal(max: number, what: string): Uint8Array {
    this.counters.refused += 1;
    return encode(`refused by the master: ${max} ${what} of minions are under way`, "raw");
  }

  /** As in Salt the minion is not told why. */
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
    // Salt takes any kind that begins with "node" for a nodegroup.
    const targetKind = ask.targetKind.startsWith("node") ? "nodegroup" : ask.targetKind;
    if (isBlacklisted(config.publisher_acl_blacklist, config.user, [ask.fun])) return undefined;
    try {
      const written = targets.written({ target, targetKind, delimiter: ":" });
      const reach = new Reach(targets, written);
      const call = { fun: ask.fun, args: decode(ask.sent) as Value[], kwargs: undefined };
      if (!(await this.#rules.mayPublish(id, call, (limit) => reach.isWithin(limit)))) return undefined;
      // The master's own groups are safe, because no minion chose their expressions.
      if (targetKind !== "nodegroup" && !(await reach.isExact())) return undefined;
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

  async #publish(job: Job): Promise<Uint8Array> {
    const { keeping } = this.#options;
    const within = keeping.deliverWithin(undefined, job.fun);
    const published = await keeping.beginning((begin) =>
      this.#published(job, (accepted) => begin(job, accepted, undefined, within)),
    );
    // The result of Salt's own client for a publish without a job id.
    if (published === undefined) return encode({ jid: 0, minions: [] }, "raw");
    return encode({ jid: published.jid, minions: published.minions.packed }, "raw");
  }

  async #publishAndWait(id: string, job: Job, wait: NonNullable<PeerPublish["wait"]>): Promise<Uint8Array> {
    const { keeping, config, returnsOf } = this.#options;
    let onDone = () => {};
    const over = new Promise<void>((resolve) => {
      onDone = resolve;
    });
    const published = await this.#published(job, ({ jid, minions, missing }) =>
      keeping.tracker.follow({
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
    // The wait ends though a minion keeps saying that it runs the job; the job is followed further.
    const timer = setTimeout(onDone, peerWaitMsMax);
    await over;
    clearTimeout(timer);
    return await returnsOf(published.jid, id, { waited: true, full: wait.isFull });
  }

  async #published(
    job: Job,
    onAccepted: (published: Published) => Promise<void> | void,
  ): Promise<Published | undefined> {
    const published = await this.#options.publisher.publish(job, onAccepted);
    this.counters[published === undefined ? "unmatched" : "published"] += 1;
    return published;
  }

  async #run(id: string, { fun, arg }: PeerRun): Promise<Uint8Array> {
    if (!(await this.#rules.mayRun(id, fun))) return this.#denied(id, fun);
    if (this.#running >= peerRunsMax) return this.#refusal(peerRunsMax, "runner calls");
    this.counters.runs += 1;
    this.#running += 1;
    const load = encode({ cmd: "runner", fun, kwarg: { arg: decode(arg), kwarg: {} }, sync: true }, "raw");
    try {
      return memberOf(memberOf(await this.#options.run(load), "data"), "return");
    } finally {
      this.#running -= 1;
    }
  }

  /** Minions ask three times a second. The store is not read while nothing has returned. */
  async #returns(id: string, jid: string): Promise<Uint8Array> {
    this.counters.returns += 1;
    const { keeping, returnsOf } = this.#options;
    return keeping.tracker.record(jid)?.returnedCount === 0
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

/** Parts of the master that jobs and runner calls pass through. */
export type PeerJobs = Pick<PeersOptions, "publisher" | "keeping" | "targets"> & {
  readonly commands: Pick<Commands, "run" | "peerReturns">;
};

/** Makes the answers to peers. A minion's runner call runs as the master's own user, without that user's private functions. */
export function peersOf(
  parts: Pick<PeersOptions, "pool" | "partitioner" | "logger"> & { readonly config: MasterConfig },
  { publisher, keeping, targets, commands }: PeerJobs,
): Peers {
  const caller = { kind: "key", user: parts.config.user, isMaster: true } as const;
  const run = (load: Uint8Array) =>
    new Promise<Uint8Array>((resolve, reject) => {
      commands.run("runner", load, caller, resolve, noConnection, true).catch(reject);
    });
  const { config, pool, partitioner, logger } = parts;
  return new Peers({
    ...{ config, pool, partitioner, logger, publisher, keeping, targets, run },
    returnsOf: (jid, id, form) => commands.peerReturns(jid, id, form),
  });
}

/** The minions that a target reaches, matched once for all permissions. */
class Reach {
  readonly #targets: PeersOptions["targets"];
  readonly #written: AskedTarget;
  #expected: Promise<TextList> | undefined;

  constructor(targets: PeersOptions["targets"], written: AskedTarget) {
    this.#targets = targets;
    this.#written = written;
  }

  /** Minions without data are reached, but are not within a limit that asks for data. */
  async isWithin(limit: string): Promise<boolean> {
    try {
      return await this.#isAmong({ target: limit, targetKind: "compound", delimiter: ":" }, false);
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID")) throw error;
      return false;
    }
  }

  /** Whether the target reaches only minions with exactly this pillar value, so that minions cannot fish for values with patterns. */
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
