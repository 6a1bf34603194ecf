/** Sends returns of this member again that the cluster may lack, a step at a time. The other members drop what they have. */
import type { SharedReturn } from "../../cluster/returns/message.ts";
import type { MasterConfig } from "../../config/load.ts";
import { isWireFault, SaltworksError } from "../../errors.ts";
import {
  returnMessageBytesMax,
  returnRepairJobAgeMs,
  returnRepairTriesMax,
  returnsRepairedPerStep,
} from "../../limits.ts";
import { driverOf } from "../../store/drivers/registry.ts";
import type { JobCacheReader } from "../../store/jobs/job-cache.ts";
import type { JobWalk } from "../../store/jobs/job-import.ts";
import { jidAt } from "../../wire/jid.ts";
import { pickEntries } from "../../wire/pick.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { RepairAnswer, RepairPlace, RepairTask } from "../messages/member-returns.ts";
import type { ClusterReturns } from "../state/cluster-returns.ts";

type Sources = {
  readonly jobs: Pick<JobCacheReader, "request" | "returns"> & { readonly close: () => Promise<void> };
  readonly walk: JobWalk;
};

type Cluster = Pick<ClusterReturns, "noteGivenUp" | "sendAgain">;

export class ReturnRepair {
  readonly #config: MasterConfig;
  readonly #onFault: (error: Error) => void;
  #sources: Sources | undefined;
  /** How often large returns of the present page took too long, by minion. */
  readonly #tries = new Map<string, number>();

  constructor(config: MasterConfig, onFault: (error: Error) => void) {
    this.#config = config;
    this.#onFault = onFault;
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE, STORE_FAILED; the same step may be tried again */
  async step(cluster: Cluster, { sinceMs, after }: Omit<RepairTask, "kind">): Promise<RepairAnswer> {
    this.#sources ??= this.#open();
    const { jobs, walk } = this.#sources;
    const place = after ?? { jid: jidAt(Math.max(0, sinceMs - returnRepairJobAgeMs), 0), minionId: undefined };
    const job = placeOf(walk, place);
    if (job === undefined) {
      await this.close();
      return { sent: 0, after: undefined };
    }
    const { jid, minionId } = job;
    const page = { after: minionId, limit: returnsRepairedPerStep, bytesMax: returnMessageBytesMax };
    const { returns, hasMore } = await jobs.returns(jid, page);
    const since = new Date(sinceMs).toISOString();
    const lacking: SharedReturn[] = [];
    for (const one of returns) {
      const fields = fieldsOf(one.body);
      const stamp = fields.get("_stamp");
      if (typeof stamp === "string" && stamp < since) continue;
      const job = fields.has("tgt") ? await jobOf(jobs, jid, one.body) : undefined;
      const retcode = fields.get("retcode");
      const isFailed = typeof retcode === "number" && retcode !== 0;
      lacking.push({ jid, minionId: one.minionId, body: one.body, isStored: true, isFailed, job });
    }
    const sent = await this.#send(cluster, lacking);
    this.#tries.clear();
    return { sent, after: { jid, minionId: hasMore ? returns.at(-1)?.minionId : undefined } };
  }

  /** Large returns go alone, so that one that is too slow does not hold up the others. @returns how many are sent */
  async #send(cluster: Cluster, lacking: readonly SharedReturn[]): Promise<number> {
    const small = lacking.filter((one) => !isLarge(one));
    const sending = lacking.filter(isLarge).map((one) => this.#sendLarge(cluster, one));
    if (small.length > 0) sending.push(cluster.sendAgain(small).then(() => small.length));
    const settled = await Promise.allSettled(sending);
    for (const one of settled) if (one.status === "rejected") throw one.reason;
    return settled.reduce((sum, one) => sum + (one.status === "fulfilled" ? one.value : 0), 0);
  }

  async #sendLarge(cluster: Cluster, one: SharedReturn): Promise<number> {
    const { jid, minionId } = one;
    const tries = (this.#tries.get(minionId) ?? 0) + 1;
    if (tries > returnRepairTriesMax) return 0;
    try {
      await cluster.sendAgain([one]);
      return 1;
    } catch (error) {
      const { isSlow } = error instanceof SaltworksError ? error.detail : {};
      if (isSlow !== true) throw error;
      this.#tries.set(minionId, tries);
      if (tries < returnRepairTriesMax) throw error;
      this.#tries.set(minionId, tries + 1);
      cluster.noteGivenUp();
      const about = `the return of ${minionId} to job ${jid} takes the cluster too long: only this member has it`;
      this.#onFault(new SaltworksError("CLUSTER_UNAVAILABLE", about, {}, { cause: error }));
      return 0;
    }
  }

  async close(): Promise<void> {
    const sources = this.#sources;
    this.#sources = undefined;
    await sources?.walk.close();
    await sources?.jobs.close();
  }

  #open(): Sources {
    const driver = driverOf(this.#config);
    return {
      jobs: driver.open(this.#config, { isReadOnly: true, onFault: this.#onFault }),
      walk: driver.openWalk(this.#config),
    };
  }
}

/** The rest of the same job, or the next one. */
function placeOf(walk: JobWalk, place: RepairPlace): RepairPlace | undefined {
  if (place.minionId !== undefined) return place;
  const [jid] = walk.jids({ after: place.jid, limit: 1 });
  return jid === undefined ? undefined : { jid, minionId: undefined };
}

function isLarge({ body }: SharedReturn): boolean {
  return body.byteLength > returnMessageBytesMax / 2;
}

const readFields: ReadonlySet<string> = new Set(["_stamp", "retcode", "tgt"]);
const stampOnly: ReadonlySet<string> = new Set(["_stamp"]);

/** Of a return whose `retcode` or `tgt` has more than one decoding may build, only the time, or nothing. */
function fieldsOf(body: Uint8Array): ValueMap {
  for (const wanted of [readFields, stampOnly]) {
    try {
      return pickEntries(body, wanted);
    } catch (error) {
      if (!isWireFault(error)) throw error;
    }
  }
  return new Map();
}

/** How a minion's own return makes its job: as `salt-call` does, or as it is, if the master made the job's id. */
async function jobOf(jobs: Sources["jobs"], jid: string, body: Uint8Array): Promise<SharedReturn["job"]> {
  const load = await jobs.request(jid);
  return load !== undefined && Buffer.compare(load, body) === 0 ? "isReturn" : "ofReturn";
}
