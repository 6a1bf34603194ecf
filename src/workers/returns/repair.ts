/** Sends returns of this member again that the cluster may lack, a step at a time. The other members drop what they have. */
import type { SharedReturn } from "../../cluster/returns/message.ts";
import type { MasterConfig } from "../../config/load.ts";
import { returnMessageBytesMax, returnRepairJobAgeMs, returnsRepairedPerStep } from "../../limits.ts";
import { driverOf } from "../../store/drivers/registry.ts";
import type { JobCacheReader } from "../../store/jobs/job-cache.ts";
import type { JobWalk } from "../../store/jobs/job-import.ts";
import { jidAt } from "../../wire/jid.ts";
import { pickEntries } from "../../wire/pick.ts";
import type { RepairAnswer, RepairPlace, RepairTask } from "../messages/member-returns.ts";
import type { ClusterReturns } from "../state/cluster-returns.ts";

type Sources = {
  readonly jobs: Pick<JobCacheReader, "returns"> & { readonly close: () => Promise<void> };
  readonly walk: JobWalk;
};

export class ReturnRepair {
  readonly #config: MasterConfig;
  readonly #onFault: (error: Error) => void;
  #sources: Sources | undefined;

  constructor(config: MasterConfig, onFault: (error: Error) => void) {
    this.#config = config;
    this.#onFault = onFault;
  }

  /** @throws SaltworksError CLUSTER_UNAVAILABLE, STORE_FAILED */
  async step(cluster: ClusterReturns, { sinceMs, after }: Omit<RepairTask, "kind">): Promise<RepairAnswer> {
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
    const lacking = returns.flatMap((one) => sharedSince(jid, one, since));
    if (lacking.length > 0) await cluster.sendAgain(lacking);
    return { sent: lacking.length, after: { jid, minionId: hasMore ? returns.at(-1)?.minionId : undefined } };
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

const readFields: ReadonlySet<string> = new Set(["_stamp", "retcode"]);

/** Nothing if the return came earlier. `since`: as in `_stamp`, which sorts by time. */
function sharedSince(
  jid: string,
  { minionId, body }: { readonly minionId: string; readonly body: Uint8Array },
  since: string,
): SharedReturn[] {
  const fields = pickEntries(body, readFields);
  const stamp = fields.get("_stamp");
  if (typeof stamp === "string" && stamp < since) return [];
  const retcode = fields.get("retcode");
  return [{ jid, minionId, body, isStored: true, isFailed: typeof retcode === "number" && retcode !== 0 }];
}
