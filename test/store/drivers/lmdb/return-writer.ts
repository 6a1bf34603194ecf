/** A thread that puts returns for job-cache.test.ts; or, as a program, a process that reads a job's minions. */

import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { openLmdbJobCache } from "../../../../src/store/drivers/lmdb/job-cache.ts";
import { encode } from "../../../../src/wire/msgpack.ts";
import { returnsIn } from "../../../contract/returns-in.ts";

if (isMainThread) {
  const [path = "", jid = ""] = process.argv.slice(2);
  const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true });
  process.stdout.write((await returnsIn(cache, jid)).map(({ minionId }) => minionId).join(","));
  await cache.close();
} else {
  const { path, shards, jid, from, count } = workerData;
  const cache = openLmdbJobCache({ path, shards, durability: "fsync" });
  const outcomes: string[] = [];
  for (let index = from; index < from + count; index += 10) {
    const batch = Array.from({ length: 10 }, (_, offset) => {
      const minionId = `minion-${index + offset}`;
      return { jid, minionId, body: encode({ id: minionId, return: true }, "bin") };
    });
    outcomes.push(...(await cache.keepReturns(batch)));
  }
  await cache.close();
  parentPort?.postMessage(outcomes);
}
