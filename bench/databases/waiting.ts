/** Jobs and returns that wait in a store for a database, as a master leaves them whose database is down. */
import type { DatabaseName } from "../../src/config/options/job-cache-drivers.ts";
import { lmdbDriver } from "../../src/store/drivers/lmdb/driver.ts";
import { jidAt } from "../../src/wire/jid.ts";
import { encode } from "../../src/wire/msgpack.ts";

export const minionsOfJob = 1_000;
/** Returns that are stored at once. */
const putBatch = 256;

export type WaitingReturn = { readonly jid: string; readonly minionId: string; readonly body: Uint8Array };

/** One job and its returns. `text`: what each minion returns. `minions`: at most `minionsOfJob`. */
export type WaitingJob = {
  readonly jid: string;
  readonly load: Uint8Array;
  readonly returns: readonly WaitingReturn[];
};

const minionIds = Array.from({ length: minionsOfJob }, (_, index) => `waited-${String(index).padStart(6, "0")}`);

/** @param atMs the time in the job's id */
export function waitingJob(atMs: number, text: string, minions = minionsOfJob): WaitingJob {
  const jid = jidAt(atMs, 0);
  const head = { cmd: "publish", tgt: "*", tgt_type: "glob", fun: "cmd.run", arg: ["df -h"] };
  const ids = minionIds.slice(0, minions);
  return {
    jid,
    load: encode({ ...head, jid, ret: "", user: "root" }, "bin"),
    returns: ids.map((minionId) => ({ jid, minionId, body: returnOf(jid, minionId, text) })),
  };
}

/** Stores the jobs. All of them wait. `driver`: of the database they wait for. */
export async function storeWaiting(
  cachedir: string,
  jobs: Iterable<WaitingJob>,
  driver: DatabaseName = "mysql",
): Promise<void> {
  const cache = lmdbDriver.open({ cachedir, hash_type: "sha256", master_job_cache: driver }, {});
  try {
    for (const { jid, load, returns } of jobs) {
      await cache.keepJobs([{ jid, load, minions: minionIds }]);
      for (let at = 0; at < returns.length; at += putBatch) await cache.keepReturns(returns.slice(at, at + putBatch));
    }
  } finally {
    await cache.close();
  }
}

/** The fields that a stock minion sends. */
function returnOf(jid: string, id: string, text: string): Uint8Array {
  const head = { cmd: "_return", id, success: true, return: text, retcode: 0, jid, fun: "cmd.run" };
  return encode({ ...head, fun_args: ["df -h"], user: "root", _stamp: new Date().toISOString() }, "bin");
}
