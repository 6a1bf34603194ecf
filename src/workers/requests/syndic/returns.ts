/**
 * `_syndic_return`: the returns of minions below a lower master, many jobs in one request. Each becomes an event and a record like a minion's own
 * return. As in Salt, a syndic may return for any minion id. docs/syndic.md, docs/protocol.md section 6.4.
 */
import type { SharedReturn } from "../../../cluster/returns/message.ts";
import { isWireFault } from "../../../errors.ts";
import { loadMembersMax, syndicJobsMax, syndicReturnsMax } from "../../../limits.ts";
import type { LoadToPut } from "../../../store/jobs/job-cache.ts";
import { idIsValid } from "../../../store/keys/keys.ts";
import { isUsableJid } from "../../../wire/jid.ts";
import { decode, encode } from "../../../wire/msgpack.ts";
import { packedMembers } from "../../../wire/pick.ts";
import type { Encodable, Packed, Value } from "../../../wire/values.ts";
import { headOf, keyOf, mapEntries, rawToBin, skipWhole } from "../../../wire/walk.ts";
import type { WorkerState } from "../../state/worker-state.ts";
import type { Answer, BatchEffects, Opened } from "../context.ts";
import { acknowledged, fireReturn, keep, loadIn, returnTag } from "../return.ts";

/** Members of a job that each of its returns gets, in Salt's order. */
const sharedMembers = ["master_id", "fun", "fun_args", "out"] as const;

export function handleSyndicReturn(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  const { id } = opened;
  if (!mayBeSyndic(worker, opened) || id === undefined) {
    worker.count("syndics.refused");
    batch.refuse(id ?? "", "returns of a syndic are refused: order_masters is off, or the request lacks a token");
    return acknowledged;
  }
  batch.syndics.add(id);
  new SyndicReturns(worker, batch, id).take(rawToBin(opened.load));
  return acknowledged;
}

/** Whether the sender may act as a syndic: with `order_masters`, as in Salt, each minion with an accepted key. */
export function mayBeSyndic(worker: WorkerState, { id, isProven }: Pick<Opened, "id" | "isProven">): boolean {
  return worker.start.config.order_masters && id !== undefined && isProven;
}

type FirstReturn = { readonly id: string; readonly body: Uint8Array };

/** The returns of one request, up to `syndicJobsMax` and `syndicReturnsMax`. */
class SyndicReturns {
  readonly #worker: WorkerState;
  readonly #batch: BatchEffects;
  readonly #syndic: string;
  #left = syndicReturnsMax;
  #dropped = 0;

  constructor(worker: WorkerState, batch: BatchEffects, syndic: string) {
    this.#worker = worker;
    this.#batch = batch;
    this.#syndic = syndic;
  }

  /** `data`: the request's load in the new flavour. Old syndics send one job, which is the load itself. */
  take(data: Uint8Array): void {
    const list = mapEntries(data, loadMembersMax).find(({ key }) => key === "load");
    if (list !== undefined && headOf(data, list.valueStart).kind === "list") {
      const { count, start } = headOf(data, list.valueStart);
      let position = start;
      for (let index = 0; index < count; index += 1) {
        const end = skipWhole(data, position);
        if (index < syndicJobsMax) this.#takeJob(data.subarray(position, end));
        else this.#dropped += 1;
        position = end;
      }
    } else {
      this.#takeJob(data);
    }
    if (this.#dropped === 0) return;
    this.#worker.count("syndics.overRequest", this.#dropped);
    const bounds = `at most ${syndicJobsMax} jobs and ${syndicReturnsMax} returns`;
    this.#batch.refuse(
      this.#syndic,
      `what a request of a syndic holds beyond ${bounds} is dropped: ${this.#dropped} here`,
    );
  }

  #takeJob(job: Uint8Array): void {
    const members = headOf(job, 0).kind === "map" ? packedMembers(job, loadMembersMax) : new Map<string, Packed>();
    const jid = textIn(members.get("jid"));
    const returns = bytesOf(members.get("return"));
    // A job without an id of its own is a minion's: a syndic gets the id from the lower master.
    const isJob = jid !== undefined && jid !== "req" && isUsableJid(jid) && members.has("id");
    if (!isJob || returns === undefined || headOf(returns, 0).kind !== "map") {
      this.#worker.count("returns.malformed");
      return;
    }
    if (this.#worker.isPresencePing(jid)) return;
    const isKept = this.#keepLoad(jid, bytesOf(members.get("load")));
    const shared = new Map<string, Encodable>();
    for (const name of sharedMembers) {
      const value = members.get(name);
      if (value !== undefined) shared.set(name, value);
    }
    const first = this.#takeReturns(jid, shared, returns);
    if (!isKept && first !== undefined) this.#keepReturnAsLoad(jid, first);
  }

  /** Keeps a job that the lower master began. A job that is known here keeps its own load. @returns false without a load */
  #keepLoad(jid: string, load: Uint8Array | undefined): boolean {
    if (load === undefined || headOf(load, 0).kind !== "map" || headOf(load, 0).count === 0) return false;
    // Before it goes anywhere, because a load that cannot be read fails on every member, each time.
    const job = this.#readLoad(jid, load);
    if (job === undefined) return false;
    this.#batch.writes.push(this.#worker.stores.jobs.keepNewJob(jid, () => job));
    this.#batch.loadsBelow.push(sharedLoad(jid, "", load));
    return true;
  }

  /** @returns undefined if the load cannot be read, which is counted */
  #readLoad(jid: string, load: Uint8Array): LoadToPut | undefined {
    try {
      return loadBelow(jid, load);
    } catch (error) {
      if (!isWireFault(error)) throw error;
      this.#worker.count("returns.malformed");
      return undefined;
    }
  }

  /** As in Salt: a job of which only a return has come is at least in the list of jobs. */
  #keepReturnAsLoad(jid: string, { id, body }: FirstReturn): void {
    const make = () => ({ jid, load: loadIn(body), minions: [id] });
    this.#batch.writes.push(this.#worker.stores.jobs.keepNewJob(jid, make));
    this.#batch.loadsBelow.push(sharedLoad(jid, id, body));
  }

  /** @returns the first that was taken */
  #takeReturns(jid: string, shared: ReadonlyMap<string, Encodable>, returns: Uint8Array): FirstReturn | undefined {
    let first: FirstReturn | undefined;
    const { count, start } = headOf(returns, 0);
    let position = start;
    for (let index = 0; index < count; index += 1) {
      const keyEnd = skipWhole(returns, position);
      const end = skipWhole(returns, keyEnd);
      const id = keyOf(returns, position, keyEnd);
      if (this.#left > 0) {
        const body = this.#takeReturn(jid, id, shared, returns.subarray(keyEnd, end));
        if (body !== undefined && id !== undefined) first ??= { id, body };
      } else {
        this.#dropped += 1;
      }
      this.#left -= 1;
      position = end;
    }
    return first;
  }

  #takeReturn(
    jid: string,
    id: string | undefined,
    shared: ReadonlyMap<string, Encodable>,
    returned: Uint8Array,
  ): Uint8Array | undefined {
    const worker = this.#worker;
    const own =
      headOf(returned, 0).kind === "map" ? packedMembers(returned, loadMembersMax) : new Map<string, Packed>();
    if (id === undefined || !idIsValid(id) || !own.has("return")) {
      worker.count("returns.malformed");
      return undefined;
    }
    worker.count("syndics.returns");
    // First, because they are so in Salt's event, and because a return must not name another job or minion.
    const fields = new Map<string, Encodable>([
      ["jid", jid],
      ["id", id],
    ]);
    for (const [name, value] of own) if (name !== "jid" && name !== "id" && name !== "_stamp") fields.set(name, value);
    for (const [name, value] of shared) fields.set(name, value);
    const body = encode(fields.set("_stamp", this.#batch.stamp), "bin");
    worker.meter.noteSize("return", body.byteLength);
    if (body.byteLength > worker.start.config.job_cache_max_return_bytes) {
      worker.count("returns.tooLarge");
      return undefined;
    }
    const isFailed = isFailure(own.get("retcode"));
    fireReturn(worker, this.#batch, returnTag(jid, id), body, isFailed);
    keep(worker, this.#batch, { jid, minionId: id, body }, isFailed);
    return body;
  }
}

/** The job of a lower master, from the load that its syndic sends. @throws SaltworksError WIRE_* */
export function loadBelow(jid: string, load: Uint8Array): LoadToPut {
  const minions = decode(bytesOf(packedMembers(load, loadMembersMax).get("Minions")) ?? encode([], "bin"));
  return { jid, load: loadIn(load), minions: Array.isArray(minions) ? minions.filter(isId) : [] };
}

/** @param minionId - empty if `body` is a load that names its minions */
function sharedLoad(jid: string, minionId: string, body: Uint8Array): SharedReturn {
  return { jid, minionId, body, isStored: true, isFailed: false, job: "below" };
}

function bytesOf(packed: Packed | undefined): Uint8Array | undefined {
  return packed?.pieces[0];
}

function textIn(packed: Packed | undefined): string | undefined {
  const bytes = bytesOf(packed);
  return bytes === undefined ? undefined : keyOf(bytes, 0, bytes.byteLength);
}

function isId(value: Value): value is string {
  return typeof value === "string" && idIsValid(value);
}

/** As for a minion's own return: a map of codes, one for each function, does not count. */
function isFailure(retcode: Packed | undefined): boolean {
  const bytes = bytesOf(retcode);
  if (bytes === undefined || headOf(bytes, 0).kind !== "other") return false;
  const code = decode(bytes);
  return typeof code === "number" && code !== 0;
}
